import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { KernelSocket, loadLibc, SYS } from "@isochrone/kernel-sockets";
import { describe, expect, onTestFinished, test } from "vitest";
import { NamespaceError } from "./errors.ts";
import { NamespaceLab } from "./namespace-lab.ts";
import { NAMESPACE_FOLDER } from "./reaper.ts";
import { namespaceLabSupport } from "./support.ts";
import { runOn, serveOn, UDP_ECHO } from "./testing/programs.ts";
import { makeLab, pingUdp } from "./testing/rig.ts";

const support = await namespaceLabSupport();
const LAB_PROGRAM = fileURLToPath(new URL("testing/lab-program.ts", import.meta.url));
const TRANSFER_BYTES = 20_000_000;

function namespacesOf(pid: number): string[] {
  if (!existsSync(NAMESPACE_FOLDER)) return [];
  return readdirSync(NAMESPACE_FOLDER).filter((name) => name.startsWith(`isolab-${pid}-`));
}

function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20));
}

const HASH_SERVER = `
  import { createHash } from "node:crypto";
  import { createServer } from "node:net";
  const server = createServer((socket) => {
    const hash = createHash("sha256");
    socket.on("data", (chunk) => hash.update(chunk));
    socket.on("end", () => { socket.end(hash.digest("hex")); server.close(); });
  });
  server.listen(9001, "::", () => console.log("ready"));`;

const PAYLOAD = `Buffer.from(Uint32Array.from({ length: ${TRANSFER_BYTES / 4} }, (_, i) => Math.imul(i, 2654435761)).buffer)`;

function sender(address: string): string {
  return `
    import { connect } from "node:net";
    const socket = connect(9001, "${address}");
    let answer = "";
    socket.on("data", (chunk) => (answer += chunk));
    socket.on("end", () => console.log(answer));
    socket.end(${PAYLOAD});`;
}

function payloadHash(): string {
  const words = Uint32Array.from({ length: TRANSFER_BYTES / 4 }, (_, i) => Math.imul(i, 2654435761));
  return createHash("sha256").update(Buffer.from(words.buffer)).digest("hex");
}

describe.skipIf(!support.supported)("a lab of network namespaces", () => {
  test("has the congestion control that is asked for, on its nodes alone, and windows that last", async () => {
    const settings = ["congestion_control", "slow_start_after_idle"].map(
      (name) => `/proc/sys/net/ipv4/tcp_${name}`,
    );
    const read = `import { readFileSync } from "node:fs";
      console.log(${JSON.stringify(settings)}.map((path) => readFileSync(path, "utf8").trim()).join());`;
    const own = settings.map((path) => readFileSync(path, "utf8").trim());
    const asked = await makeLab({ nodes: ["a"], congestionControl: "reno", slowStartAfterIdle: false });
    expect((await runOn(asked, "a", read)).trim()).toBe("reno,0");
    expect(settings.map((path) => readFileSync(path, "utf8").trim())).toEqual(own);
  });

  test("is there when made and gone when closed, with all that ran in it", async () => {
    const lab = await makeLab({ nodes: ["a", "b", "c"] });
    expect(lab.nodes.map((node) => existsSync(lab.namespacePath(node)))).toEqual([true, true, true]);
    expect([lab.address("a"), lab.address("c"), lab.address("b", 6)]).toEqual([
      "10.83.0.1",
      "10.83.0.3",
      "fd49:534f:6c61:62::2",
    ]);
    const server = await serveOn(lab, "b", UDP_ECHO);
    const wirePid = lab.wirePid!;
    await lab.close();
    await until(() => !isRunning(server.pid!) && !isRunning(wirePid));
    expect(lab.nodes.some((node) => existsSync(lab.namespacePath(node)))).toBe(false);
    await expect(lab.setPath("a", "b", { delayMs: 1 })).rejects.toThrow(NamespaceError);
    expect(() => lab.spawn("a", "true")).toThrow("the lab is closed");
  });

  test.each(["process", "process and reaper"])("nothing stays when its %s is killed", async (what) => {
    const maker = spawn(process.execPath, [LAB_PROGRAM], { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void maker.kill("SIGKILL"));
    const [words] = (await once(maker.stdout, "data")) as [Buffer];
    const { serverPid, wirePid, reaperPid } = JSON.parse(words.toString()) as Record<string, number>;
    expect(namespacesOf(maker.pid!).length).toBe(3);
    if (what !== "process") process.kill(reaperPid!, "SIGKILL");
    maker.kill("SIGKILL");
    await once(maker, "exit");
    // Without its reaper the next lab removes it.
    if (what !== "process") await makeLab({ nodes: ["a"], topology: "bridge" });
    await until(() => namespacesOf(maker.pid!).length === 0);
    await until(() => !isRunning(serverPid!) && !isRunning(wirePid!) && !isRunning(reaperPid!));
  });

  test.each([4, 6] as const)(
    "TCP over IPv%i arrives whole, also with loss, jitter and a rate",
    async (family) => {
      const lab = await makeLab();
      await lab.setPaths("a", "b", { delayMs: 1 });
      for (const change of [{}, { lossRatio: 0.002, jitterMs: 0.2, bandwidthBitsPerSecond: 400e6 }]) {
        await lab.setPath("a", "b", change);
        await serveOn(lab, "b", HASH_SERVER);
        expect((await runOn(lab, "a", sender(lab.address("b", family)))).trim()).toBe(payloadHash());
      }
      const { counts } = await lab.record({
        source: "a",
        target: "b",
        family,
        protocol: "tcp",
        targetPort: 9001,
      });
      expect(counts.enteredBytes).toBeGreaterThan(2 * TRANSFER_BYTES);
      const packets = await lab.packets({ source: "a", target: "b", protocol: "tcp" });
      expect(Math.max(...packets.map(({ bytes }) => bytes))).toBe(1514);
    },
  );

  test("corruption is found by checksums, but for the kind that they can't find", async () => {
    const lab = await makeLab();
    await serveOn(lab, "b", UDP_ECHO);
    await lab.setPath("a", "b", { corruptRatio: 1 });
    expect(await pingUdp(lab, { count: 50, intervalMs: 1 })).toEqual([]);
    await lab.setPath("a", "b", { corruptKind: "swap" });
    const seen = await pingUdp(lab, { count: 50, intervalMs: 1 });
    expect(seen).toEqual(Array.from({ length: 50 }, (_, i) => -1 - i));
    const { counts } = await lab.record({ source: "a", target: "b", protocol: "udp" });
    expect(counts).toMatchObject({ delivered: 100, corrupted: 100 });
  });

  test.each(["direct", "bridge"] as const)("%s: tbf holds a node's traffic to the rate", async (topology) => {
    const lab = await makeLab({ topology });
    const transfer = async (): Promise<number> => {
      await serveOn(lab, "b", HASH_SERVER);
      const startMs = performance.now();
      await runOn(lab, "a", sender(lab.address("b")));
      return (TRANSFER_BYTES * 8) / (performance.now() - startMs) / 1000;
    };
    const shape = { rateBitsPerSecond: 100e6, burstBytes: 32_768, latencyMs: 50 };
    await lab.shape("b", { ...shape, direction: "received" });
    // 1448 of 1514 bytes of each frame are payload; starting the sender takes time too.
    expect(await transfer()).toBeLessThan(97);
    await lab.unshape("b");
    await lab.shape("a", shape);
    expect(await transfer()).toBeLessThan(97);
    await lab.unshape("a");
    const left = lab.spawn("a", "tc", ["qdisc", "show", "dev", lab.device]);
    expect(await text(left.stdout!)).not.toContain("tbf");
    await lab.unshape("a");
  });

  test("what runs within a node is on that node, and the thread is back afterwards", async () => {
    const lab = await makeLab({ topology: "bridge" });
    const libc = await loadLibc();
    const own = readFileSync("/proc/thread-self/net/dev", "utf8");
    const socket = lab.within("a", () => {
      const socket = KernelSocket.open(libc, { family: SYS.AF_INET, type: SYS.SOCK_DGRAM, protocol: 0 });
      socket.bind(lab.address("a"), 0);
      return socket;
    });
    onTestFinished(() => socket.close());
    expect(socket.localAddress().ip).toBe("10.83.0.1");
    const failing = (): never => {
      throw new Error("no");
    };
    expect(() => lab.within("a", failing)).toThrow("no");
    expect(readFileSync("/proc/thread-self/net/dev", "utf8").split(":").length).toBe(own.split(":").length);
    expect(() => lab.within("c", () => 1)).toThrow('there is no node "c", the lab has a, b');
  });

  test("a worker thread can move into a node for good", async () => {
    const lab = await makeLab({ topology: "bridge" });
    const program = `
      import { createSocket } from "node:dgram";
      import { parentPort, workerData } from "node:worker_threads";
      const { enterNamespace } = await import(workerData.entry);
      await enterNamespace(workerData.path);
      const socket = createSocket("udp4");
      socket.bind(0, workerData.address, () => { parentPort.postMessage(socket.address().address); socket.close(); });`;
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`), {
      workerData: {
        entry: new URL("enter.ts", import.meta.url).href,
        path: lab.namespacePath("b"),
        address: lab.address("b"),
      },
    });
    expect(await once(worker, "message")).toEqual(["10.83.0.2"]);
    await once(worker, "exit");
  });

  test.each([
    [{ nodes: [] }, "a lab has 1 to 128 nodes, got 0"],
    [
      { nodes: ["a", "B"] },
      'a node\'s name must be lower-case letters, digits and inner hyphens, at most 32, got "B"',
    ],
    [{ nodes: ["a", "a"] }, 'node names must differ, got "a" more than once'],
    [{ nodes: ["a"], topology: "direct" as const }, 'topology "direct" joins 2 nodes, got 1'],
    [{ mtu: 500 }, "mtu must be an integer from 1280 to 9000, got 500"],
  ])("refuses %o", async (options, message) => {
    await expect(NamespaceLab.create({ nodes: ["a", "b"], ...options })).rejects.toThrow(
      new NamespaceError("invalid_argument", message),
    );
  });

  test("refuses what its topology doesn't have, and settings that are none", async () => {
    const bridge = await makeLab({ topology: "bridge" });
    expect(() => bridge.mark()).toThrow('paths and records need topology "wire", this is "bridge"');
    await expect(
      bridge.shape("a", { rateBitsPerSecond: 1, burstBytes: 32_768, latencyMs: 50 }),
    ).rejects.toThrow("shape of a: rateBitsPerSecond must be a number from 8000 to 100000000000, got 1");
    const lab = await makeLab();
    await expect(lab.setPath("a", "a", {})).rejects.toThrow('a path must join two nodes, got "a" twice');
    await expect(lab.setPath("a", "b", { delayMs: -1 })).rejects.toThrow(
      "path a to b: delayMs must be a number of ms from 0 to 60000, got -1",
    );
    expect(lab.path("a", "b").delayMs).toBe(0);
  });
});
