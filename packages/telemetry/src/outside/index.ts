// Names for addresses outside of the cluster. An entry of its own: what reads graphs needs none of it.
export { rawAddressOf } from "./address-ranges.ts";
export {
  isOutsideName,
  Outside,
  OUTSIDE_NAMESPACE,
  OUTSIDE_UNKNOWN,
  outsideNameOf,
  readOutside,
} from "./outside.ts";
