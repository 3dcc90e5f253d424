import type { IcmpProberName, IcmpTask } from "@isochrone/probe/testing";
import { WIRE, type Testbed } from "./testbed.ts";

/** A prober, and what it can't do by its nature. */
export interface IcmpContract {
  readonly prober: IcmpProberName;
  /** Group ids that may open datagram sockets, e.g. "0 0"; null: nobody may, as by default. */
  readonly pingGroupRange: string | null;
  readonly stampedBy: "kernel" | "user";
  /** Whether damaged payloads are noticed. */
  readonly seesDamage: boolean;
  readonly hops: boolean;
  /** Reason of a send without a route. */
  readonly refusal: string;
  /** Reason of a loss of which a router says that the host is unreachable; null: it isn't told. */
  readonly unreachable: string | null;
  /** Name of the process that may be killed; null: a thread. */
  readonly process: string | null;
}

/** What the parts of the suite share. The testbed is there once `beforeAll` has run. */
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
