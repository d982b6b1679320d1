"""What the Flex Template's launcher runs."""

import sys

from pipeline.flex_template import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
