// A separate entry point: graph readers don't need it.
export { rawAddressOf } from "./address-ranges.ts";
export {
  isOutsideName,
  Outside,
  OUTSIDE_NAMESPACE,
  OUTSIDE_UNKNOWN,
  outsideNameOf,
  readOutside,
} from "./outside.ts";
