import { createRequire } from "node:module";
import { describeIcmpContract } from "./icmp-contract.ts";

describeIcmpContract(
  "net-ping",
  {
    prober: "net_ping",
    pingGroupRange: null,
    stampedBy: "user",
    seesDamage: true,
    hops: false,
    refusal: "ENETUNREACH",
    unreachable: null,
    process: "node",
  },
  whyMissing(),
);

/** It is optional, and its native part is built on demand only (tools/src/build-net-ping.ts). */
function whyMissing(): string | null {
  try {
    createRequire(import.meta.url)("net-ping");
    return null;
  } catch (error) {
    const [reason = ""] = (error as Error).message.split("\n");
    if (process.env["CI"] === "true" && process.env["ISOCHRONE_TEST_NET_PING"] === "required") throw error;
    return `net-ping can't be loaded: ${reason}`;
  }
}
