"""Looking into the graph of a pipeline, as a distributed runner would."""

from __future__ import annotations

from apache_beam.portability import common_urns, python_urns
from apache_beam.runners.portability.fn_api_runner import translations


def fused_stages(proto):
    """The steps of each stage that a runner would run in one go, by their names."""
    phases = translations.standard_optimize_phases()
    known = {python_urns.KNOWN_TRANSFORMS} if hasattr(python_urns, "KNOWN_TRANSFORMS") else set()
    known |= {common_urns.primitives.FLATTEN.urn, common_urns.primitives.GROUP_BY_KEY.urn}
    context, stages = translations.create_and_optimize_stages(proto, phases, frozenset(known))
    del context
    return [sorted(transform.unique_name for transform in stage.transforms) for stage in stages]


def grouping_steps(proto):
    """Names of the steps at which data goes from worker to worker: reshuffles, groupings and combinations."""
    wanted = {common_urns.primitives.GROUP_BY_KEY.urn, common_urns.composites.RESHUFFLE.urn}
    wanted |= {common_urns.composites.COMBINE_PER_KEY.urn}
    return sorted(step.unique_name for step in proto.components.transforms.values() if step.spec.urn in wanted)
