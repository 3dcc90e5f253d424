import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@isochrone/runtime";
import { afterEach, expect, test } from "vitest";
import { readNic } from "./nic.ts";

const made: string[] = [];
afterEach(async () => {
  for (const path of made.splice(0)) await rm(path, { recursive: true });
});

const ROUTES = `Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT
eth1\t00000000\t0101A8C0\t0003\t0\t0\t200\t00000000\t0\t0\t0
eth0\t00000000\t0100A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
eth0\t0000A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0
`;

const devices = (received: number, sent: number): string => `Inter-|   Receive
 face |bytes    packets errs drop fifo frame compressed multicast|bytes
    lo: 999999 1 0 0 0 0 0 0 999999 1 0 0 0 0 0 0
  eth0: ${received} 1 0 0 0 0 0 0 ${sent} 1 0 0 0 0 0 0
  eth1:5 1 0 0 0 0 0 0 5 1 0 0 0 0 0 0
`;

async function tree(routes: string, speed: string | null): Promise<{ proc: string; sys: string }> {
  const root = await mkdtemp(join(tmpdir(), "nic-"));
  made.push(root);
  await mkdir(join(root, "proc/net"), { recursive: true });
  await mkdir(join(root, "sys/class/net/eth0"), { recursive: true });
  await writeFile(join(root, "proc/net/route"), routes);
  await writeFile(join(root, "proc/net/dev"), devices(1000, 2000));
  if (speed !== null) await writeFile(join(root, "sys/class/net/eth0/speed"), speed);
  return { proc: join(root, "proc"), sys: join(root, "sys") };
}

const never = new AbortController().signal;

test("reads the interface of the best default route: speed, and the busier direction", async () => {
  const paths = await tree(ROUTES, "10000\n");
  let ms = 0;
  const clock = {
    ...systemClock,
    monotonic: () => ms,
    sleep: async () => {
      await writeFile(join(paths.proc, "net/dev"), devices(501_000, 1_252_000));
      ms += 1000;
    },
  };
  expect(await readNic(clock, never, paths)).toEqual({
    name: "eth0",
    capacityBitsPerSecond: 10e9,
    usedBitsPerSecond: 10e6,
  });
});

test.each([["-1\n"], [null]])("a driver that tells no speed (%j) leaves it open", async (speed) => {
  const paths = await tree(ROUTES, speed);
  expect(await readNic(systemClock, never, paths)).toMatchObject({ capacityBitsPerSecond: null });
});

test("without a default route, or without files, there is nothing to tell", async () => {
  expect(await readNic(systemClock, never, await tree("Iface\tDestination\n", "1000"))).toBeNull();
  expect(await readNic(systemClock, never, { proc: "/nowhere", sys: "/nowhere" })).toBeNull();
});
