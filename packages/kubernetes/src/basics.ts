// Object readers without stores, certificates and metrics, for commands that must start fast.

export {
  CHANNELS_ANNOTATION,
  isGeneratedAppGroup,
  MAX_CHANNELS_CHARACTERS,
  parseChannels,
} from "./store/channels-annotation.ts";
export { conditionsOf } from "./store/conditions.ts";
export { deadlineOf, DISPATCH_ANNOTATIONS } from "./store/dispatch-annotations.ts";
export { matchesLabels, workflowOf } from "./store/labels.ts";
export { keyOf } from "./store/objects.ts";
export { pickedFields } from "./store/picked-fields.ts";
export { KINDS } from "./kinds.ts";
export { isNamespaced } from "./store/validation.ts";
export { withoutPlannedNodes } from "./store/planned-affinity.ts";
export { nodeView, podView, templateLabels } from "./store/views.ts";
export { podAliases, templateAliases } from "./store/workload-aliases.ts";
export { workloadOf } from "./store/workloads.ts";
