// Object readers without stores, certificates and metrics, for commands that must start fast.

export {
  CHANNELS_ANNOTATION,
  GENERATED_ANNOTATION,
  MAX_CHANNELS_CHARACTERS,
  parseChannels,
} from "./store/channels-annotation.ts";
export { conditionsOf } from "./store/conditions.ts";
export { pickedFields } from "./store/picked-fields.ts";
export { KINDS } from "./kinds.ts";
export { isNamespaced } from "./store/validation.ts";
export { withoutPlannedNodes } from "./store/planned-affinity.ts";
