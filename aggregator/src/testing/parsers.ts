export {
  appGroupText,
  channelsOfAnnotation,
  channelsOfAppGroup,
  DEPENDENCIES_ANNOTATION,
} from "../adapters/declared-channels.ts";
export { DeclaredObjects, refusedDeclarationEvent } from "../adapters/declared-objects.ts";
export { readLatencies } from "../domain/graphs/node-latencies.ts";
