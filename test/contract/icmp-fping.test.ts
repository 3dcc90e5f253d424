import { spawnSync } from "node:child_process";
import { describeIcmpContract } from "./icmp-contract.ts";

const installed = spawnSync("fping", ["-v"], { stdio: "ignore" }).error === undefined;

describeIcmpContract(
  "fping",
  {
    prober: "fping",
    pingGroupRange: null,
    stampedBy: "user",
    seesDamage: false,
    hops: false,
    refusal: "not_sent_by_fping",
    unreachable: "host_unreachable",
    process: "fping",
  },
  installed ? null : "fping is not installed",
);
