// ISOCHRONE_TEST_NETOBSERV_AGENT is the path of the agent's binary; skipped without it.
import { expect, test } from "vitest";
import { ConnectionLab, connectionLabSupport, PODS, PORT } from "../harness/connections/lab.ts";

const { ISOCHRONE_TEST_NETOBSERV_AGENT: AGENT = "", PATH = "" } = process.env;
const PAIR = `${PODS.web.address} ${PODS.far.address}`;
/** The agent counts frames, the pod counts packets. */
const ETHERNET_BYTES = 14;

const CONFIG = {
  pipeline: [{ name: "writer", follows: "preset-ingester" }],
  parameters: [{ name: "writer", write: { type: "stdout", stdout: { format: "json" } } }],
};

interface Flow {
  readonly SrcAddr?: string;
  readonly DstAddr?: string;
  readonly Bytes?: number;
  readonly Packets?: number;
}

test.skipIf(AGENT === "" || !connectionLabSupport().supported)(
  "NetObserv's agent counts the bytes of a pod within 2 %, and all of its packets",
  { timeout: 60_000 },
  async () => {
    const lab = new ConnectionLab();
    try {
      const { bytes, own } = await compared(lab);
      expect(own).toBeGreaterThan(1e6);
      expect(Math.abs(bytes / own - 1)).toBeLessThan(0.02);
    } finally {
      lab.remove();
    }
  },
);

/** Bytes by the agent and by the pod, once the agent has reported all packets. */
async function compared(lab: ConnectionLab): Promise<{ readonly bytes: number; readonly own: number }> {
  const counted = { lines: 0, bytes: 0, packets: 0 };
  const agent = lab.program("n2", AGENT, {
    PATH,
    EXPORT: "direct-flp",
    AGENT_IP: "192.0.2.2",
    INTERFACES: "tofar",
    CACHE_ACTIVE_TIMEOUT: "1s",
    FLP_CONFIG: JSON.stringify(CONFIG),
  });
  let rest = "";
  agent.stdout!.on("data", (chunk: Buffer) => {
    const lines = `${rest}${chunk.toString()}`.split("\n");
    rest = lines.pop() ?? "";
    counted.lines += lines.length;
    for (const line of lines.filter((each) => each.startsWith("{"))) {
      const { SrcAddr = "", DstAddr = "", Bytes = 0, Packets = 0 }: Flow = JSON.parse(line);
      if ([SrcAddr, DstAddr].toSorted().join(" ") !== PAIR) continue;
      counted.bytes += Bytes;
      counted.packets += Packets;
    }
  });
  await lab.serve("far");
  // Its first flows show that its hooks are attached.
  while (counted.lines === 0) await lab.traffic("cart", "load", PODS.far.address, PORT, 5, 5);
  await lab.traffic("web", "load", PODS.far.address, PORT, 50, 250);
  const own = (): number => lab.counted().get(PAIR)!;
  const frames = (): number => counted.bytes - counted.packets * ETHERNET_BYTES;
  await expect.poll(() => frames() / own(), { timeout: 20_000 }).toBeCloseTo(1, 4);
  return { bytes: counted.bytes, own: own() };
}
