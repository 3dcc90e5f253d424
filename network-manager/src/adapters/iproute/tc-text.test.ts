import { expect, test } from "vitest";
import { KernelError } from "../../ports/errors.ts";
import { parseClasses, parseQdiscs } from "./tc-text.ts";

const QDISCS = `[{"kind":"noqueue","handle":"0:","dev":"lo","root":true,"refcnt":2,"options":{}},
{"kind":"mq","handle":"0:","dev":"eth0","root":true,"options":{}},{"kind":"fq_codel","handle":"0:","dev":"eth0","parent":":1","options":{}},
{"kind":"fq","handle":"8001:","dev":"eth1","root":true,"refcnt":2,"options":{}},{"kind":"clsact","handle":"ffff:","dev":"eth1","parent":"ffff:fff1","options":{}},
{"kind":"htb","handle":"1:","dev":"eth2","root":true,"options":{}},{"kind":"bfifo","handle":"801a:","dev":"eth2","parent":"1:101","options":{"limit":1}},
{"kind":"htb","handle":"15c0:","dev":"v0","root":true,"options":{"r2q":10,"default":"0","direct_packets_stat":1}},
{"kind":"bfifo","handle":"801b:","dev":"v0","parent":"15c0:101","options":{"limit":65536}}]`;

const CLASSES = `class htb 15c0:101 parent 15c0:1 leaf 801b: prio 3 rate 1234Kbit ceil 10Mbit burst 3027b cburst 3026b 
 Sent 12345 bytes 9 pkt (dropped 2, overlimits 0 requeues 0) 
 backlog 37Kb 25p requeues 0
 lended: 0 borrowed: 0 giants: 0
 tokens: 306578 ctokens: 37843

class htb 15c0:1 root rate 10Mbit ceil 10Mbit burst 3026b cburst 3026b 
 Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0) 
`;

test("whose a device's root qdisc is, is told by its handle", () => {
  const { roots, queues } = parseQdiscs(QDISCS);
  expect([...roots].map(([device, { owner, name }]) => [device, owner, name])).toEqual([
    ["lo", "kernel", "noqueue 0:"],
    ["eth0", "kernel", "mq 0:"],
    ["eth1", "other", "fq 8001:"],
    ["eth2", "other", "htb 1:"],
    ["v0", "manager", "htb 15c0:"],
  ]);
  expect(queues).toEqual(new Map([["v0", new Map([[0x101, 65_536]])]]));
});

test("classes are read with their counters", () => {
  const { classes, counters } = parseClasses(CLASSES, new Map([[0x101, 65_536]]));
  expect([...classes.values()]).toEqual([
    {
      minor: 0x101,
      parent: 1,
      rateBitsPerSecond: 1_234_000,
      ceilBitsPerSecond: 10e6,
      priority: 3,
      queueBytes: 65_536,
    },
    {
      minor: 1,
      parent: null,
      rateBitsPerSecond: 10e6,
      ceilBitsPerSecond: 10e6,
      priority: 0,
      queueBytes: null,
    },
  ]);
  expect(counters.get(0x101)).toEqual({ sentBytes: 12_345, droppedPackets: 2, queuedPackets: 25 });
});

test.each(["class htb 15c0:1 root rate fast ceil 10Mbit burst 1b", "class htb 15c0:1 root weight 7"])(
  "what isn't understood is an error: %s",
  (text) => {
    expect(() => parseClasses(text, new Map())).toThrow(KernelError);
    expect(() => parseQdiscs("{}")).toThrow("tc qdisc must be a list, got {}");
    expect(() => parseQdiscs("no JSON")).toThrow("tc qdisc must print JSON");
  },
);
