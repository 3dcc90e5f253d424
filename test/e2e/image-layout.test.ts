// Tests an image's content without a container: programs run from the image's folder.
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { existsSync, lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { boundPort } from "@isochrone/primitives";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../harness/common/free-port.ts";

const BUILD = join(import.meta.dirname, "../../tools/src/build-image-layout.ts");
const DOCKERFILE = join(import.meta.dirname, "../../Dockerfile");
const HOST = "127.0.0.1";
const EPOCH = "1700000000";

/** Reason why net-ping can't run here. Null: it can. The CI machine has everything. */
const netPingMissing = whyNoNetPing();

function whyNoNetPing(): string | null {
  const isBuilt = existsSync(
    join(import.meta.dirname, "../../node_modules/raw-socket/build/Release/raw.node"),
  );
  const reason = isBuilt ? null : "net-ping isn't built: npm run build:net-ping";
  if (reason !== null && process.env["CI"] === "true") throw new Error(reason);
  return process.getuid?.() === 0 ? reason : "net-ping's raw sockets need root";
}

describe("an image", () => {
  let folder: string;
  const processes: ChildProcess[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "isochrone-layout-"));
    for (const component of ["probe", "network-manager", "aggregator", "cli"])
      await build(component, component);
    await build("probe", "again");
    await build("collector", "kafkajs", ["--kafka-client", "kafkajs"]);
    if (netPingMissing === null) await build("probe", "net-ping", ["--net-ping", "yes"]);
  }, 300_000);
  afterAll(async () => {
    for (const child of processes.filter(({ exitCode }) => exitCode === null)) {
      const ended = once(child, "exit");
      // An orderly stop would wait for an aggregator that never existed.
      child.kill("SIGKILL");
      await ended;
    }
    // Twenty thousand files take a minute on a busy disk, so delete them in the background.
    spawn("rm", ["-rf", folder], { detached: true, stdio: "ignore" }).unref();
  });

  async function build(component: string, name: string, more: readonly string[] = []): Promise<void> {
    const args = [BUILD, "--component", component, "--output", join(folder, name), ...more];
    await promisify(execFile)(process.execPath, ["--disable-warning=ExperimentalWarning", ...args], {
      env: { PATH: process.env["PATH"], SOURCE_DATE_EPOCH: EPOCH },
    });
  }

  /** Starts with an empty environment, like an image. Node's own path differs from the image's. */
  function start(
    component: string,
    env: Readonly<Record<string, string>>,
    name: string = component,
    flags: readonly string[] = [],
  ): { readonly said: () => string; readonly pid: number } {
    const main = join(folder, name, component, "src/main.js");
    const child = spawn(process.execPath, [...flags, main], { cwd: join(folder, name), env });
    processes.push(child);
    let text = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
    return { said: () => text, pid: child.pid! };
  }

  async function page(port: number, path: string): Promise<string> {
    const answer = await fetch(`http://${HOST}:${port}${path}`, { signal: AbortSignal.timeout(5000) });
    return answer.text();
  }

  const probeOn = (port: number): Record<string, string> => ({
    ISOCHRONE_PROBE_NODE: "node-0",
    ISOCHRONE_PROBE_BIND_ADDRESS: HOST,
    ISOCHRONE_PROBE_HTTP_PORT: String(port),
    ISOCHRONE_PROBE_UDP_PORT: "0",
    ISOCHRONE_PROBE_BANDWIDTH_PORT: "0",
    ISOCHRONE_PROBE_AUTHENTICATION: "none",
  });

  test("of the probe runs from a bare folder, and tells its metrics", async () => {
    const port = await freePort(HOST, new Set());
    const probe = start("probe", probeOn(port));
    await expect
      .poll(() => page(port, "/metrics").catch(() => probe.said()), { timeout: 30_000, interval: 250 })
      .toContain("isochrone_peers");
  });

  function startOf(component: string): { env: Record<string, string>; flags: string[] } {
    const stage = readFileSync(DOCKERFILE, "utf8")
      .split(/^FROM /m)
      .find((text) => text.startsWith(`base AS ${component}\n`))!;
    const pairs = /^ENV (.*)$/m.exec(stage)![1]!.split(" ");
    const [, ...args] = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(stage)![1]!) as string[];
    return { env: Object.fromEntries(pairs.map((pair) => pair.split("="))), flags: args.slice(0, -1) };
  }

  const collectorOn = (port: number): Record<string, string> => ({
    ISOCHRONE_COLLECTOR_NODE: "node-0",
    ISOCHRONE_COLLECTOR_HOST: HOST,
    ISOCHRONE_COLLECTOR_PORT: String(port),
    ISOCHRONE_COLLECTOR_AGGREGATOR_URL: `http://${HOST}:1`,
    ISOCHRONE_COLLECTOR_STATIC_TARGETS: `cadvisor=http://${HOST}:1/metrics`,
  });

  test.each([
    ["probe", 35, "probe", probeOn],
    ["collector", 40, "kafkajs", collectorOn],
  ] as const)("of the %s takes less than %i MiB of anonymous memory", async (component, most, name, on) => {
    const port = await freePort(HOST, new Set());
    const { env, flags } = startOf(component);
    const started = start(component, { ...on(port), ...env }, name, flags);
    await expect
      .poll(() => page(port, "/metrics").catch(() => started.said()), { timeout: 30_000, interval: 250 })
      .toContain("isochrone_");
    // Memory needed only at the start goes with the first collections.
    const anonymousMiB = (): number => {
      const memory = readFileSync(`/proc/${started.pid}/smaps_rollup`, "utf8");
      return Number(/^Anonymous: +(\d+) kB$/m.exec(memory)![1]) / 1_024;
    };
    await expect.poll(anonymousMiB, { timeout: 30_000, interval: 250 }).toBeLessThan(most);
  });

  test("of the probe is small beside its peers, and seldom wakes", async () => {
    const { env, flags } = startOf("probe");
    const port = await freePort(HOST, new Set());
    const peers = ["127.0.0.2", "127.0.0.3", "127.0.0.4"].map((address) => ({
      node: address,
      zone: null,
      region: null,
      address,
      identity: address,
      udpPort: port,
      tcpPort: port,
      bandwidthPort: null,
    }));
    const plans = createServer(({ url }, answer) => {
      const plan = { version: "1", node: "node-0", identity: HOST, zone: null, region: null };
      const isWanted = url?.endsWith("/probe-plan/node-0") === true;
      answer.writeHead(isWanted ? 200 : 404, { "content-type": "application/json" });
      answer.end(isWanted ? JSON.stringify({ ...plan, signingKeyId: null, peers }) : "{}");
    });
    plans.listen(0, HOST);
    await once(plans, "listening");
    const aggregator = { ISOCHRONE_CLIENT_AGGREGATOR_URL: `http://${HOST}:${boundPort(plans)}` };
    for (const { node } of peers) {
      const own = { ISOCHRONE_PROBE_NODE: node, ISOCHRONE_PROBE_BIND_ADDRESS: node };
      const peerPort = { ISOCHRONE_PROBE_UDP_PORT: String(port) };
      start("probe", { ...probeOn(0), ...own, ...peerPort, ...aggregator, ...env }, "probe", flags);
    }
    const pagePort = await freePort(HOST, new Set());
    const { pid, said } = start("probe", { ...probeOn(pagePort), ...aggregator, ...env }, "probe", flags);
    const answered = /^isochrone_rr_transactions_total\{.*"tcp.*\} [1-9]/m;
    await expect
      .poll(() => page(pagePort, "/metrics").catch(said), { timeout: 60_000, interval: 1000 })
      .toMatch(answered);
    const status = (name: string): number =>
      Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]);
    // Memory needed only at the start is released after twenty seconds.
    await expect.poll(() => status("VmRSS") / 1_024, { timeout: 60_000, interval: 250 }).toBeLessThan(70);
    expect(status("RssAnon") / 1_024).toBeLessThan(35);
    // Nine requests and two checks per second. A wake-up per packet would be 60.
    const [waits, startMs] = [status("voluntary_ctxt_switches"), performance.now()];
    await delay(4_000);
    const perSecond = (status("voluntary_ctxt_switches") - waits) / ((performance.now() - startMs) / 1000);
    expect(perSecond).toBeLessThan(40);
    plans.closeAllConnections();
    plans.close();
  }, 150_000);

  test("of the network manager runs from a bare folder, and observes", async () => {
    const port = await freePort(HOST, new Set());
    const manager = start("network-manager", {
      ISOCHRONE_FLOWS_NODE: "node-0",
      ISOCHRONE_FLOWS_HTTP_PORT: String(port),
      ISOCHRONE_FLOWS_AGGREGATOR_URL: `http://${HOST}:1`,
    });
    await expect
      .poll(() => page(port, "/metrics").catch(() => manager.said()), { timeout: 30_000, interval: 250 })
      .toContain('isochrone_network_manager_mode{configured="observe",mode="observe"} 1');
  });

  const byNetPing = { ISOCHRONE_PROBE_METHODS: "icmp", ISOCHRONE_PROBE_ICMP_PROBER: "net_ping" };

  test.skipIf(netPingMissing !== null)(
    `of the probe with net-ping sends echoes by it${netPingMissing === null ? "" : ` (skipped: ${netPingMissing})`}`,
    async () => {
      expect(packagesIn(join(folder, "net-ping"))).toEqual(
        [...packagesIn(join(folder, "probe")), "nan", "net-ping", "raw-socket"].sort(),
      );
      const built = [...walk(join(folder, "net-ping/node_modules/raw-socket/build"))];
      // No compiler output, which would contain paths of the build machine.
      expect(built).toEqual(["Release/raw.node"]);
      const port = await freePort(HOST, new Set());
      const probe = start("probe", { ...probeOn(port), ...byNetPing }, "net-ping");
      // Replies to its echoes to its own loopback address.
      await expect
        .poll(() => page(port, "/metrics").catch(() => probe.said()), { timeout: 30_000, interval: 250 })
        .toMatch(/^isochrone_probe_zero_check_seconds_count\{.*\} [1-9]/m);
      expect(await page(port, "/metrics")).toContain('prober="net_ping"');
    },
  );

  test("of the probe without net-ping says so where it is chosen", async () => {
    const port = await freePort(HOST, new Set());
    const probe = start("probe", { ...probeOn(port), ...byNetPing });
    await expect.poll(probe.said, { timeout: 30_000, interval: 250 }).toContain("net-ping is not installed");
  });

  test("of the aggregator runs from a bare folder, and serves an empty graph", async () => {
    const port = await freePort(HOST, new Set());
    const aggregator = start("aggregator", {
      ISOCHRONE_AGGREGATOR_HOST: HOST,
      ISOCHRONE_AGGREGATOR_PORT: String(port),
    });
    await expect
      .poll(() => page(port, "/metrics").catch(() => aggregator.said()), { timeout: 30_000, interval: 250 })
      .toContain("isochrone_");
    expect(JSON.parse(await page(port, "/api/v1/openapi.json"))).toHaveProperty("openapi");
  });

  test("of the command has what the chart's hooks run", async () => {
    const main = join(folder, "cli/cli/src/main.js");
    for (const words of [["crds", "apply"], ["clean-up"], ["gates", "open"], ["graph"]]) {
      const { stdout } = await promisify(execFile)(process.execPath, [main, ...words, "--help"], { env: {} });
      expect(stdout).toContain(`isochrone ${words.join(" ")}`);
    }
    const ran = promisify(execFile)(process.execPath, [main, "crds", "apply", folder], { env: {} });
    await expect(ran).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining("must hold a definition"),
    });
  });

  test("of the probe holds no client of Kubernetes, and one of Kafka", () => {
    const packages = packagesIn(join(folder, "probe"));
    expect(packages.filter((name) => /kubernetes|client-node/.test(name))).toEqual([]);
    expect(packages.filter((name) => /kafka/.test(name))).toEqual(["@platformatic/kafka"]);
    const others = packagesIn(join(folder, "kafkajs")).filter((name) => /kafka/.test(name));
    expect(others).toEqual(["kafkajs"]);
    // Its own code is bundled, like the packages with a licence file.
    expect(existsSync(join(folder, "probe/packages"))).toBe(false);
    const licences = readdirSync(join(folder, "probe/licences"));
    expect(licences.some((name) => name.startsWith("prom-client-"))).toBe(true);
    // Ten megabytes for three pages.
    expect([...packages, ...licences].filter((name) => name.startsWith("fastify"))).toEqual([]);
  });

  test("holds no tests, no sources of the page and no tools", () => {
    const files = [...walk(join(folder, "aggregator"))].filter((path) => !path.includes("node_modules"));
    // JavaScript, because Node's type stripper costs each process tens of megabytes.
    expect(files.filter((path) => path.endsWith(".ts"))).toEqual([]);
    expect(files.filter((path) => /\.test\.|\/testing\/|^(tools|test|cli|probe)\//.test(path))).toEqual([]);
  });

  test("names every package in its bill of materials", () => {
    for (const component of ["probe", "aggregator", "cli"]) {
      const text = readFileSync(join(folder, component, "sbom.cdx.json"), "utf8");
      const { bomFormat, metadata, components } = JSON.parse(text) as {
        bomFormat: string;
        metadata: { timestamp: string };
        components: { group?: string; name: string; version: string; purl: string }[];
      };
      expect({ bomFormat, at: metadata.timestamp }).toEqual({
        bomFormat: "CycloneDX",
        at: "2023-11-14T22:13:20.000Z",
      });
      const named = new Set(
        components.map(({ group, name }) => (group === undefined ? name : `${group}/${name}`)),
      );
      expect(packagesIn(join(folder, component)).filter((name) => !named.has(name))).toEqual([]);
      expect(components.filter(({ version, purl }) => !purl.endsWith(`@${version}`))).toEqual([]);
    }
  });

  test("is the same whenever it is built", () => {
    expect(fingerprint(join(folder, "again"))).toBe(fingerprint(join(folder, "probe")));
  });

  test("refuses what it can't build, in words", async () => {
    const built = promisify(execFile)(process.execPath, [
      BUILD,
      "--component",
      "prober",
      "--output",
      join(folder, "x"),
    ]);
    await expect(built).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        "--component must be one of probe, collector, network-manager, dispatcher, aggregator, scheduler-plugin, cli, got prober",
      ),
    });
    expect(existsSync(join(folder, "x"))).toBe(false);
  });
});

function packagesIn(root: string): string[] {
  const names = [...walk(root)].flatMap((path) => {
    const found = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\/package\.json$/.exec(path);
    return found === null || found[1]!.startsWith("@isochrone/") ? [] : [found[1]!];
  });
  return [...new Set(names)].sort();
}

function* walk(root: string, below = ""): Generator<string> {
  for (const entry of readdirSync(join(root, below), { withFileTypes: true })) {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) yield* walk(root, path);
    else yield path;
  }
}

function fingerprint(root: string): string {
  const hash = createHash("sha256");
  for (const path of [...walk(root)].sort()) {
    const full = join(root, path);
    const stat = lstatSync(full);
    hash.update(`${path} ${stat.mode} ${stat.mtimeMs}\n`);
    hash.update(stat.isSymbolicLink() ? readlinkSync(full) : readFileSync(full));
  }
  return hash.digest("hex");
}
