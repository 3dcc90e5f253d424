import { describe, expect, test } from "vitest";
import { PlanRefusedError } from "../ports/errors.ts";
import { PLAN_REFUSALS } from "../ports/ports.ts";
import { parsePlan } from "./plan.ts";

const RULES = { node: "a", maxPeers: 3 };

const peer = (values: Record<string, unknown> = {}): Record<string, unknown> => ({
  node: "b",
  zone: null,
  region: null,
  address: "10.0.0.2",
  identity: "10.0.0.2",
  udpPort: 7411,
  tcpPort: 7411,
  ...values,
});
const plan = (values: Record<string, unknown> = {}): Record<string, unknown> => ({
  version: "1",
  node: "a",
  identity: "10.0.0.1",
  zone: "z",
  region: null,
  peers: [peer()],
  ...values,
});
const other = (values: Record<string, unknown>): Record<string, unknown> =>
  peer({ node: "c", address: "10.0.0.3", identity: "10.0.0.3", ...values });

test("a sound plan is taken, without what nobody asked for", () => {
  const parsed = parsePlan({ ...plan(), extra: 1, peers: [{ ...peer(), extra: 2 }] }, RULES);
  expect(parsed).toEqual({ ...plan(), signingKeyId: null, peers: [{ ...peer(), bandwidthPort: null }] });
});

test("IPv6 peers are peers", () => {
  expect(
    parsePlan(plan({ peers: [peer({ address: "fd00::2", identity: "fd00::2" })] }), RULES).peers,
  ).toHaveLength(1);
});

const HOSTILE: readonly [string, unknown][] = [
  ["not_an_object", null],
  ["not_an_object", [plan()]],
  ["not_an_object", "plan"],
  ["not_an_object", plan({ peers: ["b"] })],
  ["bad_field", plan({ version: "" })],
  ["bad_field", plan({ peers: {} })],
  ["bad_field", plan({ zone: 7 })],
  ["wrong_node", plan({ node: "z" })],
  ["too_many_peers", plan({ peers: Array.from({ length: 4 }, () => peer()) })],
  ["bad_node_name", plan({ peers: [peer({ node: "b\n c" })] })],
  ["bad_node_name", plan({ peers: [peer({ node: '"}' })] })],
  ["bad_field", plan({ peers: [peer({ node: "b".repeat(254) })] })],
  ["self_peer", plan({ peers: [peer({ node: "a" })] })],
  ["duplicate_node", plan({ peers: [peer(), other({ node: "b" })] })],
  ["bad_address", plan({ identity: "a.example" })],
  ["bad_address", plan({ peers: [peer({ address: "localhost" })] })],
  ["bad_address", plan({ peers: [peer({ address: "255.255.255.255" })] })],
  ["bad_address", plan({ peers: [peer({ address: "224.0.0.1" })] })],
  ["bad_address", plan({ peers: [peer({ address: "ff02::1" })] })],
  ["bad_address", plan({ peers: [peer({ address: "::" })] })],
  ["bad_address", plan({ peers: [peer({ address: "fe80::1%eth0" })] })],
  ["bad_address", plan({ peers: [peer({ identity: "0.0.0.0" })] })],
  ["bad_port", plan({ peers: [peer({ udpPort: 0 })] })],
  ["bad_port", plan({ peers: [peer({ tcpPort: "80" })] })],
  ["bad_port", plan({ peers: [peer({ tcpPort: 65_536 })] })],
  [
    "duplicate_identity",
    plan({ peers: [peer({ identity: "fd00::2" }), other({ identity: "fd00:0:0::2" })] }),
  ],
  ["duplicate_target", plan({ peers: [peer(), other({ address: "10.0.0.2" })] })],
  ["duplicate_target", plan({ peers: [peer(), other({ address: "::ffff:10.0.0.2", udpPort: 1 })] })],
];

describe("a hostile plan is refused as a whole", () => {
  test.each(HOSTILE)("%s: %j", (reason, body) => {
    let thrown: unknown;
    try {
      parsePlan(body, RULES);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(PlanRefusedError);
    expect(thrown).toMatchObject({
      reason,
      code: "probe_plan_refused",
      message: expect.stringMatching(/got|is for/),
    });
    expect(String(thrown).length).toBeLessThan(300);
  });

  test("every reason is covered above", () => {
    expect(new Set(HOSTILE.map(([reason]) => reason))).toEqual(new Set(PLAN_REFUSALS));
  });
});
