import { randomBytes } from "node:crypto";
import { KernelSocket, SYS, isLibcSupported, loadLibc } from "@isochrone/kernel-sockets";
import { reasonOf } from "@isochrone/primitives";
import { nodeAddresses } from "./addresses.ts";
import { run } from "./commands.ts";
import { labPrefix } from "./names.ts";
import { ownerOfThisProcess, Reaper } from "./reaper.ts";

type NamespaceLabSupport =
  | { readonly supported: true }
  | { readonly supported: false; readonly reason: string };

let known: Promise<NamespaceLabSupport> | null = null;

/**
 * Tells whether a {@link NamespaceLab} can be created here, or why not, so that suites can skip with a
 * reason. Tries it once per process, because some systems deny root namespaces.
 */
export function namespaceLabSupport(): Promise<NamespaceLabSupport> {
  known ??= findOut();
  return known;
}

async function findOut(): Promise<NamespaceLabSupport> {
  if (!isLibcSupported())
    return refusal(`needs 64-bit Linux on x64 or arm64, this is ${process.platform} ${process.arch}`);
  if (process.getuid?.() !== 0) return refusal(`needs root, this is user ${process.getuid?.()}`);
  try {
    await run("ip", ["-V"]);
    await run("tc", ["-V"]);
    const libc = await loadLibc();
    KernelSocket.open(libc, { family: SYS.AF_PACKET, type: SYS.SOCK_RAW, protocol: 0 }).close();
    await tryNamespace();
    return { supported: true };
  } catch (error) {
    return refusal(reasonOf(error));
  }
}

async function tryNamespace(): Promise<void> {
  const prefix = labPrefix(await ownerOfThisProcess(), randomBytes(4).toString("hex"));
  const reaper = new Reaper([prefix]);
  const namespace = `${prefix}try`;
  try {
    await run("ip", ["netns", "add", namespace]);
    await run("ip", ["-n", namespace, "link", "add", "name", "v0", "type", "veth"]);
    await run("ip", ["-n", namespace, "address", "add", `${nodeAddresses(0).v6}/64`, "dev", "v0", "nodad"]);
  } finally {
    await reaper.remove();
  }
}

function refusal(reason: string): NamespaceLabSupport {
  return {
    supported: false,
    reason: `a lab of network namespaces ${reason.startsWith("needs") ? reason : `can't be made: ${reason}`}`,
  };
}
