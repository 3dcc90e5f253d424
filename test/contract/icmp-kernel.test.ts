import { describeIcmpContract } from "./icmp-contract.ts";
import type { IcmpContract } from "./icmp/under-test.ts";

const contract: IcmpContract = {
  prober: "kernel",
  pingGroupRange: null,
  stampedBy: "kernel",
  seesDamage: true,
  hops: true,
  refusal: "ENETUNREACH",
  unreachable: "EHOSTUNREACH",
  process: null,
};

describeIcmpContract("kernel, raw sockets", contract);
describeIcmpContract("kernel, datagram sockets", { ...contract, pingGroupRange: "0 0" });
