import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { networkCards, readCardBytes } from "./index.ts";

interface Shown {
  readonly device?: true;
  readonly bridge?: true;
  readonly lower?: readonly string[];
  readonly port?: string;
}

const ROUTE_HEAD = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n";
const NO_IP6 =
  "00000000000000000000000000000000 00 00000000000000000000000000000000 00 0 ffffffff 1 0 00200200       lo\n";
const byRoute = (name: string): string =>
  `${ROUTE_HEAD}${name}\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n`;

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "isochrone-cards-"));
});
afterEach(() => rm(root, { recursive: true }));

async function show(
  interfaces: Readonly<Record<string, Shown>>,
  ip4 = ROUTE_HEAD,
  ip6 = NO_IP6,
): Promise<void> {
  await mkdir(join(root, "net"), { recursive: true });
  await writeFile(join(root, "net/route"), ip4);
  await writeFile(join(root, "net/ipv6_route"), ip6);
  const lines = Object.keys(interfaces).map((name) => `${name}: 700 1 0 0 0 0 0 0 90 1 0 0 0 0 0 0`);
  await writeFile(join(root, "net/dev"), `Inter-| Receive\n face |bytes\n${lines.join("\n")}\n`);
  for (const [name, { device, bridge, lower = [], port }] of Object.entries(interfaces)) {
    const folder = join(root, "class/net", name);
    await mkdir(folder, { recursive: true });
    if (device) await symlink("../../../0000:00:05.0", join(folder, "device"));
    if (bridge) await mkdir(join(folder, "bridge"));
    for (const one of lower) await symlink(`../${one}`, join(folder, `lower_${one}`));
    if (port !== undefined) await writeFile(join(folder, "phys_port_name"), `${port}\n`);
  }
}

const cards = (): Promise<readonly string[]> => networkCards({ proc: root, sys: root });

const device: Shown = { device: true };
const KINDS: readonly (readonly [string, Readonly<Record<string, Shown>>, readonly string[]])[] = [
  [
    "a card beside overlays of any name",
    { ens5: device, mystery0: {}, wg9: {}, lo: {}, veth7: {} },
    ["ens5"],
  ],
  [
    "the cards of a bond with a VLAN on it",
    { lan0: device, lan1: device, up: { lower: ["lan0", "lan1"] }, "up.7": { lower: ["up"] } },
    ["lan0", "lan1"],
  ],
  [
    "a card in a bridge",
    { eth0: device, sw: { bridge: true, lower: ["eth0", "veth1"] }, veth1: {} },
    ["eth0"],
  ],
  [
    "a card and the function below it, once",
    { eth0: { device: true, lower: ["enP9s1"] }, enP9s1: device },
    ["eth0"],
  ],
  [
    "a card without the ports that stand for functions of others",
    {
      p0: { device: true, port: "p0" },
      rep0: { device: true, port: "pf0vf1" },
      rep1: { device: true, port: "c1pf0sf3" },
    },
    ["p0"],
  ],
];

test.each(KINDS)("names %s", async (_, interfaces, expected) => {
  await show(interfaces);
  expect(await cards()).toEqual(expected);
});

test("names the lowest interface of the default route where there is no device", async () => {
  await show({ lo: {}, eth0: {}, veth1: {}, tunnel: {} }, byRoute("eth0"));
  expect(await cards()).toEqual(["eth0"]);
});

test("follows a default route down, but not into a bridge of pods", async () => {
  await show({ "eth7.5": { lower: ["eth7"] }, eth7: {} }, byRoute("eth7.5"));
  expect(await cards()).toEqual(["eth7"]);
  await rm(join(root, "class"), { recursive: true });
  await show({ br0: { bridge: true, lower: ["eth0", "veth1"] }, eth0: {}, veth1: {} }, byRoute("br0"));
  expect(await cards()).toEqual(["br0"]);
});

test("reads the default route of IPv6 too, and not the one that refuses", async () => {
  const ip6 = NO_IP6.replace(/lo\n/, "eth3\n");
  await show({ lo: {}, eth3: {} }, ROUTE_HEAD, `${NO_IP6}${ip6}`);
  expect(await cards()).toEqual(["eth3"]);
});

test("reads bytes of cards alone, and nothing where nothing can be read", async () => {
  expect(await readCardBytes({ proc: root, sys: root })).toEqual([]);
  await show({ ens5: device, veth7: {} });
  expect(await readCardBytes({ proc: root, sys: root })).toEqual([{ name: "ens5", received: 700, sent: 90 }]);
});
