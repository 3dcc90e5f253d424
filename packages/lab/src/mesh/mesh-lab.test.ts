import { expect, test } from "vitest";
import { MeshLab } from "./mesh-lab.ts";
import { flowLines, portsOf } from "./rules.ts";

const LINKS = [
  { a: 0, b: 1, bitsPerSecond: 1e6 },
  { a: 1, b: 2, bitsPerSecond: 1e6 },
];

test.each([
  [{ nodes: 71, links: [] }, "a mesh must have 2 to 70 nodes, got 71"],
  [{ nodes: 1.5, links: [] }, "a mesh must have 2 to 70 nodes, got 1.5"],
  [{ nodes: 2, links: [LINKS[1]!] }, "link 0 must join two nodes of 0 to 1, got 1 and 2"],
  [{ nodes: 2, links: [{ ...LINKS[0]!, b: 0 }] }, "link 0 must join two nodes of 0 to 1, got 0 and 0"],
  [{ nodes: 2, links: [{ ...LINKS[0]!, bitsPerSecond: 0 }] }, "link 0 must have 10000 to 1e9 bit/s, got 0"],
])("a mesh is refused before anything is made: %o", async (options, message) => {
  await expect(MeshLab.create(options)).rejects.toThrow(message);
});

test("a flow has a rule and a class where it is sent or forwarded, with headers and a relay's reserve", () => {
  const flow = { port: 20_000, path: [0, 1, 2], bitsPerSecond: 1e5, bytesPerFrame: 500 };
  const [source, relay, target] = [0, 1, 2].map((node) => flowLines(node, portsOf(node, LINKS), [flow]));
  expect(source!.ip).toEqual([
    "rule add from 10.84.0.1 to 10.84.2.1 ipproto tcp dport 20000 lookup 1001 pref 1000",
  ]);
  expect(source!.tc[0]).toContain("dev l0 parent 1:1 classid 1:10 htb rate 113200bit ceil 113200bit");
  expect(relay!.tc[0]).toContain("dev l1 parent 1:1 classid 1:10 htb rate 115464bit ceil 115464bit");
  expect(target).toEqual({ ip: [], tc: [] });
});

test("a flow without a rate has its path alone", () => {
  const flow = { port: 20_000, path: [0, 1], bitsPerSecond: null, bytesPerFrame: 500 };
  expect(flowLines(0, portsOf(0, LINKS), [flow]).tc).toEqual([]);
});
