"""GaRAGe: whether answers rest on relevant passages, cite them, and know when there are none."""
