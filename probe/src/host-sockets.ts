// Probes the machine's kernel by trying: tells what a probe may do before one runs.
import {
  KernelSocket,
  ReceiveBatch,
  SYS,
  isLibcSupported,
  loadLibc,
  socketAddress,
} from "@isochrone/kernel-sockets";
import type { Libc } from "@isochrone/kernel-sockets";
import { reasonOf } from "@isochrone/primitives";

export interface IcmpOpening {
  readonly family: 4 | 6;
  readonly mode: "datagram" | "raw";
  readonly refusal: string | null;
}

interface KernelStamps {
  readonly sends: boolean;
  readonly receives: boolean;
}

export interface HostSockets {
  /** Why kernel sockets cannot be used; null: they can. */
  readonly obstacle: string | null;
  readonly icmp: readonly IcmpOpening[];
  /** For a datagram to ourselves; null: not sent, see `stampsObstacle`. */
  readonly stamps: KernelStamps | null;
  readonly stampsObstacle: string | null;
}

const LOOPBACK = "127.0.0.1";
const POLL_MS = 2;
const PATIENCE_POLLS = 50;

export async function inspectHostSockets(sleep: (ms: number) => Promise<void>): Promise<HostSockets> {
  const none = { icmp: [], stamps: null, stampsObstacle: null };
  if (!isLibcSupported())
    return { ...none, obstacle: `no system calls for ${process.platform} on ${process.arch}` };
  let libc: Libc;
  try {
    libc = await loadLibc();
  } catch (error) {
    return { ...none, obstacle: reasonOf(error) };
  }
  const icmp = ([4, 6] as const).flatMap((family) =>
    (["datagram", "raw"] as const).map((mode) => icmpOpening(libc, family, mode)),
  );
  try {
    return { obstacle: null, icmp, stamps: await stampsOf(libc, sleep), stampsObstacle: null };
  } catch (error) {
    return { obstacle: null, icmp, stamps: null, stampsObstacle: reasonOf(error) };
  }
}

function icmpOpening(libc: Libc, family: 4 | 6, mode: IcmpOpening["mode"]): IcmpOpening {
  try {
    KernelSocket.open(libc, {
      family: family === 4 ? SYS.AF_INET : SYS.AF_INET6,
      type: mode === "raw" ? SYS.SOCK_RAW : SYS.SOCK_DGRAM,
      protocol: family === 4 ? SYS.IPPROTO_ICMP : SYS.IPPROTO_ICMPV6,
    }).close();
    return { family, mode, refusal: null };
  } catch (error) {
    return { family, mode, refusal: reasonOf(error) };
  }
}

async function stampsOf(libc: Libc, sleep: (ms: number) => Promise<void>): Promise<KernelStamps> {
  const kind = { family: SYS.AF_INET, type: SYS.SOCK_DGRAM, protocol: SYS.IPPROTO_UDP };
  const [from, to] = [KernelSocket.open(libc, kind), KernelSocket.open(libc, kind)];
  const batch = new ReceiveBatch(libc, 1, 64);
  try {
    to.bind(LOOPBACK, 0);
    from.enableTimestamps({ sends: true });
    to.enableTimestamps({ sends: false });
    sendTo(libc, from, to.localAddress().port);
    const isStamped = async (socket: KernelSocket, flags: number): Promise<boolean> => {
      for (let poll = 0; poll < PATIENCE_POLLS; poll++) {
        if (batch.receive(socket.fd, flags) > 0) return Number.isFinite(batch.info(0).kernelTime);
        await sleep(POLL_MS);
      }
      return false;
    };
    return { sends: await isStamped(from, SYS.MSG_ERRQUEUE), receives: await isStamped(to, 0) };
  } finally {
    batch.free();
    from.close();
    to.close();
  }
}

function sendTo(libc: Libc, socket: KernelSocket, port: number): void {
  const address = socketAddress(libc, LOOPBACK, port);
  const data = libc.block(8);
  const sent = libc.sendTo(socket.fd, data, 0, 8, address.block, address.bytes);
  const code = sent < 0 ? libc.lastError() : "";
  libc.free(data);
  libc.free(address.block);
  if (sent < 0) throw new Error(`sendto ${LOOPBACK} port ${port}: ${code}`);
}
