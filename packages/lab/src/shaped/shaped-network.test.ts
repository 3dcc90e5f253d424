import { systemClock } from "@isochrone/runtime";
import { expect, onTestFinished, test } from "vitest";
import { NO_RULES, type NodeRules } from "./node-rules.ts";
import { ShapedNetwork } from "./shaped-network.ts";

const LINKS = [
  { a: "a", b: "b", bitsPerSecond: 1e8 },
  { a: "b", b: "d", bitsPerSecond: 1e8 },
  { a: "a", b: "c", bitsPerSecond: 1e8 },
  { a: "c", b: "d", bitsPerSecond: 1e8 },
];
const TEXT = Buffer.from("frames ".repeat(20_000));

function square(): ShapedNetwork {
  const network = new ShapedNetwork({ nodes: ["a", "b", "c", "d"], links: LINKS, clock: systemClock });
  onTestFinished(() => network.close());
  return network;
}

async function received(network: ShapedNetwork): Promise<string> {
  const { client, peer } = await network.open({ from: "a", to: "d", port: 7_000 });
  const chunks: Buffer[] = [];
  let bytes = 0;
  const all = new Promise<void>((resolve) => {
    peer.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= TEXT.length) resolve();
    });
  });
  client.write(TEXT);
  await all;
  return Buffer.concat(chunks).toString();
}

function sentBytes(network: ShapedNetwork, node: string, device: string, minor: number): number {
  return network.counters(node).get(device)!.get(minor)?.sentBytes ?? 0;
}

test("bytes arrive as they were sent, by the shortest way", async () => {
  const network = square();
  expect(await received(network)).toBe(TEXT.toString());
  expect(sentBytes(network, "a", "b", 0)).toBeGreaterThan(TEXT.length);
  expect(sentBytes(network, "b", "d", 0)).toBe(sentBytes(network, "a", "b", 0));
  expect(sentBytes(network, "a", "c", 0)).toBe(0);
});

test("a rule sends a flow another way, in the class of its mark", async () => {
  const network = square();
  const match = {
    protocol: "tcp",
    source: network.address("a"),
    sourcePort: null,
    target: network.address("d"),
    targetPort: 7_000,
  };
  const key = `tcp ${match.source} - ${match.target} 7000`;
  const spec = { minor: 9, parent: null, rateBitsPerSecond: 1e8, ceilBitsPerSecond: 1e8, priority: 0 };
  const rules: NodeRules = {
    ...NO_RULES,
    devices: new Map([["c", new Map([[9, spec]])]]),
    marks: new Map([[key, { minor: 9 }]]),
    rules: new Map([[`${key} 5`, { match, table: 5 }]]),
    routes: new Map([["4 5", { table: 5, gateway: network.address("c") }]]),
  };
  network.setRules("a", rules);
  expect(await received(network)).toBe(TEXT.toString());
  expect(sentBytes(network, "a", "c", 9)).toBeGreaterThan(TEXT.length);
  expect(sentBytes(network, "a", "b", 0)).toBe(0);
  network.setRules("a", NO_RULES);
  await received(network);
  expect(sentBytes(network, "a", "b", 0)).toBeGreaterThan(TEXT.length);
});

test.each([
  [{ a: "a", b: "z", bitsPerSecond: 1e6 }, "a node of the network must be named, got z"],
  [{ a: "a", b: "b", bitsPerSecond: 0 }, "link a - b must have a capacity above 0, got 0"],
  [{ a: "a", b: "b", bitsPerSecond: Number.NaN }, "link a - b must have a capacity above 0, got NaN"],
])("a link that can't be is refused: %o", (link, message) => {
  expect(() => new ShapedNetwork({ nodes: ["a", "b"], links: [link], clock: systemClock })).toThrow(message);
});

test("only links that there are can change", () => {
  expect(() => square().setCapacity({ a: "a", b: "d", bitsPerSecond: 1e6 })).toThrow(
    "a must have a link to d, it has none",
  );
});
