import type { IcmpProberName, IcmpTask } from "@isochrone/probe/testing";
import { WIRE, type Testbed } from "./testbed.ts";

/** A prober and its inherent limits. */
export interface IcmpContract {
  readonly prober: IcmpProberName;
  /** Group ids that may open datagram sockets, e.g. "0 0". Null: none, the default. */
  readonly pingGroupRange: string | null;
  readonly stampedBy: "kernel" | "user";
  /** Whether it detects damaged payloads. */
  readonly seesDamage: boolean;
  readonly hops: boolean;
  readonly refusal: string;
  /** Reason of a loss that a router reported as host unreachable. Null: not reported. */
  readonly unreachable: string | null;
  /** Name of the process to kill. Null: a thread. */
  readonly process: string | null;
}

/** Shared parts of the suite. The testbed exists after `beforeAll`. */
export class IcmpUnderTest {
  readonly contract: IcmpContract;
  #testbed: Testbed | null = null;

  constructor(contract: IcmpContract) {
    this.contract = contract;
  }

  get testbed(): Testbed {
    if (this.#testbed === null) throw new Error("the ground is laid in beforeAll");
    return this.#testbed;
  }

  set testbed(testbed: Testbed) {
    this.#testbed = testbed;
  }

  /** Nodes a, b, c, d have the far end's addresses in turn. */
  peers(...nodes: string[]): IcmpTask["peers"] {
    return nodes.map((node) => ({ node, address: WIRE.farIps[node.charCodeAt(0) - 97] as string }));
  }

  task(values: Partial<IcmpTask> & Pick<IcmpTask, "peers">): IcmpTask {
    return {
      engine: 1,
      intervalMs: 25,
      timeoutMs: 400,
      warmupPackets: 0,
      zeroCheckIntervalMs: 0,
      dscp: 0,
      payloadBytes: 56,
      prober: this.contract.prober,
      ...values,
    };
  }
}
