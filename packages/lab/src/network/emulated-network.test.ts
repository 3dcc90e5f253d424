import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { EmulatedNetwork } from "./emulated-network.ts";
import { NetworkError } from "./errors.ts";
import { RelayKeeper } from "./keep-relay.ts";
import {
  pause,
  recordOf,
  startNetwork,
  tcpClient,
  tcpServer,
  udpClient,
  udpResponder,
  until,
} from "./testing/rig.ts";

test("two networks on one machine have different addresses", async () => {
  const [first, second] = await Promise.all([startNetwork(), startNetwork()]);
  const addresses = [first, second].map((network) => `${network.addressing} ${network.nodeAddress("a")}`);
  expect(new Set(addresses).size).toBe(first.addressing === "loopback" ? 2 : 1);
});

test("a node reaches its own port at its own address, others at the pair's", async () => {
  const network = await startNetwork();
  const port = await udpResponder(network, "b");
  expect(network.resolve("b", "b", { protocol: "udp", port })).toEqual({
    host: network.nodeAddress("b"),
    port,
  });
  const pair = network.resolve("a", "b", { protocol: "udp", port });
  expect(pair).not.toEqual({ host: network.nodeAddress("b"), port });
});

test("exposing twice at the same time opens a port once", async () => {
  const network = await startNetwork();
  const port = await udpResponder(network, "b");
  const before = network.resolve("a", "b", { protocol: "udp", port });
  await Promise.all([1, 2, 3].map(() => network.expose("b", { protocol: "udp", port })));
  expect(network.resolve("a", "b", { protocol: "udp", port })).toEqual(before);
});

test("a port that is not exposed can't be resolved", async () => {
  const network = await startNetwork();
  const port = await udpResponder(network, "b");
  await network.unexpose("b", { protocol: "udp", port });
  expect(() => network.resolve("a", "b", { protocol: "udp", port })).toThrow(
    `udp port ${port} of b must be exposed before a can reach it`,
  );
});

test("a port that is taken on the pair's address is named in the error", async () => {
  const network = await startNetwork({}, { addressing: "loopback" });
  const port = await tcpServer(network, "b", () => undefined);
  const { host } = network.resolve("a", "b", { protocol: "tcp", port });
  await network.unexpose("b", { protocol: "tcp", port });
  const squatter = createServer().listen(port, host);
  onTestFinished(() => void squatter.close());
  await once(squatter, "listening");
  await expect(network.expose("b", { protocol: "tcp", port })).rejects.toThrow(`${host}:${port}`);
});

test("an unknown node is named, with those that exist", async () => {
  const network = await startNetwork();
  const message = 'there is no node "c", the network has a, b';
  expect(() => network.nodeAddress("c")).toThrow(message);
  expect(() => network.link("a", "c")).toThrow(message);
  expect(() => network.resolve("c", "a", { protocol: "udp", port: 1 })).toThrow(message);
  await expect(network.setLink("a", "c", { rttMs: 1 })).rejects.toThrow(message);
  await expect(network.expose("c", { protocol: "udp", port: 1 })).rejects.toThrow(message);
});

test.each([
  [{ rttMs: -1 }, "rttMs must be a number of ms from 0 to 60000, got -1"],
  [{ rttMs: Number.NaN }, "rttMs must be a number of ms from 0 to 60000, got null"],
  [{ jitterMs: Infinity }, "jitterMs must be a number of ms from 0 to 60000, got null"],
  [{ lossRatio: 1.01 }, "lossRatio must be a number from 0 to 1, got 1.01"],
  [
    { bandwidthBitsPerSecond: 0 },
    "bandwidthBitsPerSecond must be null (unlimited) or a number of at least 1000, got 0",
  ],
])("the change %o is refused and changes nothing", async (change, message) => {
  const network = await startNetwork({ rttMs: 3 });
  await expect(network.setLink("a", "b", { cut: true, ...change })).rejects.toThrow(message);
  expect(network.link("a", "b")).toMatchObject({ rttMs: 3, cut: false });
});

test("a link of a node with itself is refused", async () => {
  const network = await startNetwork();
  await expect(network.setLink("a", "a", { rttMs: 1 })).rejects.toThrow(
    'a link must join two nodes, got "a" twice',
  );
});

test("a change holds both ways, or one way when asked", async () => {
  const network = await startNetwork({ rttMs: 3 });
  await network.setLink("a", "b", { rttMs: 7 });
  await network.setLink("b", "a", { rttMs: 9 }, { oneWay: true });
  expect(network.matrix().rttMs).toEqual([
    [0, 7],
    [9, 0],
  ]);
});

test.each([
  [["a", "a"], 2, 'node names must differ, got "a" more than once'],
  [["a", "b"], 1, "links of 2 nodes must be 2 x 2, got 1 rows"],
  [[], 0, "a network must have at least one node, got none"],
])("nodes %o with %d rows of links don't start", async (nodes, rows, message) => {
  const links = Array.from({ length: rows }, () => []);
  const start = EmulatedNetwork.start({ nodes, links, logger: new MemoryLogger() });
  await expect(start).rejects.toThrow(message);
});

test("a killed relay is reported once, and all is silent until it is restarted", async () => {
  const network = await startNetwork({ rttMs: 2 });
  const port = await udpResponder(network, "b");
  const client = await udpClient(network, "a", "b", port);
  const reasons: string[] = [];
  network.onDown((reason) => reasons.push(reason));
  let answers = 0;
  client.on("message", () => answers++);
  client.send("before");
  await until(() => answers === 1);

  process.kill(network.relayPid!, "SIGKILL");
  await until(() => reasons.length > 0);
  expect(reasons).toEqual(["signal SIGKILL"]);
  expect(network.relayPid).toBeNull();
  for (let i = 0; i < 5; i++) client.send("meanwhile", () => undefined);
  await pause(100);
  expect(answers).toBe(1);
  await expect(network.record()).rejects.toThrow(NetworkError);

  await network.setLink("a", "b", { rttMs: 4 });
  await network.restartRelay();
  client.send("after");
  await until(() => answers === 2);
  expect((await recordOf(network, "a", "b")).udp.p50Ms).toBeGreaterThanOrEqual(4);
});

test("a relay that is kept comes back by itself each time it is killed, with its links and ports", async () => {
  const network = await startNetwork({ rttMs: 2 });
  const logger = new MemoryLogger();
  const keeper = new RelayKeeper(network, { clock: systemClock, logger });
  onTestFinished(() => keeper.stop());
  const port = await udpResponder(network, "b");
  const client = await udpClient(network, "a", "b", port);
  let answers = 0;
  client.on("message", () => answers++);
  await network.setLink("a", "b", { rttMs: 4 });
  for (let restarts = 1; restarts <= 2; restarts++) {
    process.kill(network.relayPid!, "SIGKILL");
    await until(() => logger.lines.some(({ fields }) => fields["restarts"] === restarts));
    answers = 0;
    client.send("after");
    await until(() => answers === 1);
    expect((await recordOf(network, "a", "b")).udp.p50Ms).toBeGreaterThanOrEqual(4);
  }
});

test("a TCP connection ends with a killed relay", async () => {
  const network = await startNetwork();
  const port = await tcpServer(network, "b", (socket) => socket.pipe(socket));
  const client = tcpClient(network, "a", "b", port);
  client.write("x");
  await once(client, "data");
  const ended = Promise.race([once(client, "end"), once(client, "close")]);
  process.kill(network.relayPid!, "SIGKILL");
  await ended;
  const closed = once(client, "close");
  client.end("y");
  await closed;
  expect(client.bytesRead).toBe(1);
});

test("addressing by ports works with 127.0.0.1 alone", async () => {
  const network = await startNetwork({ rttMs: 4 }, { addressing: "ports", nodes: ["a", "b", "c"] });
  const port = await udpResponder(network, "c");
  const addresses = ["a", "b"].map((source) => network.resolve(source, "c", { protocol: "udp", port }));
  expect(addresses.map(({ host }) => host)).toEqual(["127.0.0.1", "127.0.0.1"]);
  expect(new Set([port, ...addresses.map((address) => address.port)]).size).toBe(3);
  const client = await udpClient(network, "b", "c", port);
  client.send("x");
  await once(client, "message");
  expect((await recordOf(network, "b", "c")).udp.count).toBe(1);
  const known = addresses[0]!;
  await network.restartRelay();
  expect(network.resolve("a", "c", { protocol: "udp", port })).toEqual(known);
});

test("the record can't reach further back than it is kept", async () => {
  const network = await startNetwork();
  await expect(network.record({ lastMs: 0 })).rejects.toThrow(
    "lastMs must be above 0 and at most 120000, got 0",
  );
});

test("a stopped network has no relay left", async () => {
  const network = await startNetwork();
  const pid = network.relayPid!;
  await network.stop();
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  await expect(network.restartRelay()).rejects.toThrow("a stopped network can't be restarted");
});

test("the relay ends when its parent is killed", async () => {
  const url = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);
  const program = `
    import { EmulatedNetwork } from ${url("./emulated-network.ts")};
    import { IDEAL_LINK } from ${url("./links.ts")};
    const logger = { warnOnce() {}, error() {} };
    const network = await EmulatedNetwork.start({ nodes: ["a"], links: [[IDEAL_LINK]], logger });
    console.log(network.relayPid);
    setInterval(() => {}, 1000);`;
  const parent = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void parent.kill("SIGKILL"));
  const [output] = (await once(parent.stdout, "data")) as [Buffer];
  const relayPid = Number(output.toString());
  expect(process.kill(relayPid, 0)).toBe(true);
  parent.kill("SIGKILL");
  await until(() => !isAlive(relayPid));
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
