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

/** Built only on demand (tools/src/build-net-ping.ts), which `npm test` tries. */
function whyMissing(): string | null {
  try {
    createRequire(import.meta.url)("net-ping");
    return null;
  } catch (error) {
    // The CI machine has the compiler: .ci/run installs it.
    if (process.env["CI"] === "true") throw error;
    const [reason = ""] = (error as Error).message.split("\n");
    return `net-ping can't be loaded: ${reason}`;
  }
}
