// Entry file of the net-ping process. It ends with its parent.
import { reasonOf } from "@isochrone/primitives";
import { hostSurroundings, randomIdentity } from "../host-surroundings.ts";
import { IcmpHost } from "../icmp-host.ts";
import type { FromIcmp, ToIcmp } from "../messages.ts";
import { loadNetPing } from "./module.ts";
import { NetPingEchoes } from "./net-ping-echoes.ts";

/** net-ping reduces ids modulo this, and treats 0 as "none given". */
const SESSION_IDS = 65_535;

if (process.send === undefined)
  throw new Error("icmp/net-ping/child.ts must be started as a child process with a channel");
const post = (message: FromIcmp): void => void process.send?.(message);
process.on("disconnect", () => process.exit(0));

try {
  const { id, nonce } = randomIdentity();
  const echoes = new NetPingEchoes(await loadNetPing(), { id: 1 + (id % (SESSION_IDS - 1)), nonce });
  const host = new IcmpHost({ port: echoes, ...hostSurroundings(), post });
  process.on("message", (message: ToIcmp) => {
    host.handle(message);
    if (message.type === "stop") process.disconnect();
  });
  post({ type: "ready", description: "net-ping, raw sockets" });
} catch (error) {
  const reason = reasonOf(error);
  process.send({ type: "unavailable", reason } satisfies FromIcmp, () => process.disconnect());
}
