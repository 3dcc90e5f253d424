import { supportFrom, type Support } from "../common/support.ts";
import { whyNoMesh } from "./mesh.ts";

/** Whether network managers can run on this kernel, or the reason why not. */
export function flowMeshSupport(): Support {
  const reason = whyNoMesh();
  const support = supportFrom("the network manager", reason === null ? [] : [reason]);
  if (!support.supported) console.log(support.reason);
  return support;
}
