import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import type { NamespaceLab } from "../namespace-lab.ts";

/** Runs JavaScript on a node and returns its output. Throws with the error output on a nonzero exit code. */
export async function runOn(lab: NamespaceLab, node: string, program: string): Promise<string> {
  const child = start(lab, node, program);
  const [printed, complaint, [code]] = await Promise.all([
    text(child.stdout!),
    text(child.stderr!),
    once(child, "exit"),
  ]);
  if (code !== 0) throw new Error(`program on ${node} ended with ${String(code)}: ${complaint}`);
  return printed;
}

export async function serveOn(lab: NamespaceLab, node: string, program: string): Promise<ChildProcess> {
  const child = start(lab, node, program);
  const complaint = text(child.stderr!);
  const failed = once(child, "exit").then(async () => {
    throw new Error(`program on ${node} ended: ${await complaint}`);
  });
  await Promise.race([once(child.stdout!, "data"), failed]);
  failed.catch(() => undefined);
  return child;
}

function start(lab: NamespaceLab, node: string, program: string): ChildProcess {
  const args = ["--input-type=module", "--eval", program];
  return lab.spawn(node, process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
}

export const UDP_ECHO = `
  import { createSocket } from "node:dgram";
  for (const type of ["udp4", "udp6"]) {
    const socket = createSocket({ type, ipv6Only: type === "udp6" });
    socket.on("message", (message, from) => socket.send(message, from.port, from.address));
    socket.bind(9000, () => type === "udp6" && console.log("ready"));
  }`;

/**
 * Sends `count` datagrams of 100 bytes, one per `intervalMs`. Prints the numbers of returning ones in order
 * (-1 - number if altered) after `lingerMs` (250) of silence.
 */
export function udpPinger(
  address: string,
  { count, intervalMs, lingerMs = 250 }: { count: number; intervalMs: number; lingerMs?: number },
): string {
  return `
    import { createSocket } from "node:dgram";
    const socket = createSocket("${address.includes(":") ? "udp6" : "udp4"}");
    const seen = [];
    const packet = (number) => {
      const bytes = Buffer.from(Array.from({ length: 100 }, (_, i) => i));
      bytes.writeUInt32BE(number, 0);
      return bytes;
    };
    socket.on("message", (message) => {
      const number = message.readUInt32BE(0);
      seen.push(message.equals(packet(number)) ? number : -1 - number);
    });
    let before = -1;
    const finish = () => {
      if (seen.length > before) {
        before = seen.length;
        setTimeout(finish, ${lingerMs});
        return;
      }
      console.log(JSON.stringify(seen));
      socket.close();
    };
    socket.connect(9000, "${address}", () => {
      let next = 0;
      const startMs = performance.now();
      const timer = setInterval(() => {
        const due = Math.min(${count}, Math.floor((performance.now() - startMs) / ${intervalMs}));
        for (; next < due; next++) socket.send(packet(next));
        if (next < ${count}) return;
        clearInterval(timer);
        setTimeout(finish, ${lingerMs});
      }, 1);
    });`;
}
