// The command's output alone configures kube-scheduler. No other client gets a response.
import { KINDS } from "@isochrone/kubernetes";
import { createApiServerStore } from "@isochrone/kubernetes/api-server";
import { createRegistry, loadSettings, systemClock, systemRandom } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { execFile } from "node:child_process";
import { request } from "node:https";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  createSchedulerPlugin,
  extenderCertificateSettings,
  schedulerPluginSettings,
} from "@isochrone/scheduler-plugin";
import { openExtenderCertificates } from "@isochrone/scheduler-plugin/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OUR_CRDS } from "../harness/appgroups.ts";
import { installPolicies, installRules, MANIFEST_VALUES } from "../harness/components/index.ts";
import { controlPlaneSupport } from "../harness/control-plane/index.ts";
import { BASE_CONFIG, clusterGraph, COMMAND, workflowGraph, WORKFLOW } from "../harness/extender.ts";
import { extenderTestbed } from "../harness/extender-testbed.ts";

const { NAMESPACE, NAME } = MANIFEST_VALUES;
const SERVICE = `${NAME}-scheduler-plugin`;
const NODES = ["n0", "n1", "n2"];
const support = controlPlaneSupport(["scheduler"]);
if (!support.supported) console.warn(`the extender's own certificates are not tested: ${support.reason}`);

describe.runIf(support.supported)("an extender that makes its own certificates", () => {
  const testbed = extenderTestbed(async ({ cluster }) => {
    await cluster.addNodes(NODES.length, (index) => ({ name: NODES[index]! }));
    for (const crd of OUR_CRDS) await cluster.createYaml(await readFile(crd, "utf8"));
    await installRules(cluster, [
      "scheduler-plugin",
      "scheduler-plugin-certificates",
      "scheduler-plugin-replicas",
    ]);
    await installPolicies(cluster);
    await cluster.create([
      {
        ...KINDS.service,
        metadata: { namespace: NAMESPACE, name: SERVICE },
        spec: { ports: [{ name: "extender", port: 8081, protocol: "TCP" }] },
      },
    ]);
  });
  let folder: string;
  let stop: () => Promise<void>;
  let port: number;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "isochrone-own-certificates-"));
    const near = (a: string, b: string): number => 10 * Math.abs(Number(a.slice(1)) - Number(b.slice(1)));
    testbed.graphs.say({
      cluster: clusterGraph(
        NODES.map((name) => ({ name })),
        near,
      ),
      workflow: workflowGraph({ p: [], q: ["n2"] }, [["p", "q", 100_000]]),
    });
    const overrides = {
      scheduler: {
        port: 0,
        graphUrl: testbed.graphs.url,
        refreshMs: 100,
        podEvents: false,
        appGroupStatus: "upstream",
      },
      extenderCertificates: {
        secret: `${NAMESPACE}/${SERVICE}-certificates`,
        hosts: [`${SERVICE}.${NAMESPACE}.svc`],
      },
    };
    const settings = loadSettings([schedulerPluginSettings, extenderCertificateSettings], {
      env: {},
      overrides,
    });
    const surroundings = {
      clock: systemClock,
      random: systemRandom,
      logger: new MemoryLogger(),
      registry: createRegistry(),
    };
    const serviceAccount = { namespace: NAMESPACE, name: SERVICE };
    const kubeconfig = await testbed.cluster.kubeconfigOf({ serviceAccount });
    const store = createApiServerStore({
      ...surroundings,
      credentials: { kubeconfig },
      qps: 100,
      burst: 100,
    });
    const around = { ...surroundings, store, certFile: null, asksClients: true };
    const certificates = openExtenderCertificates(settings.extenderCertificates, around)!;
    const plugin = createSchedulerPlugin(settings.scheduler, {
      ...surroundings,
      store,
      tls: certificates.tls,
    });
    await certificates.start();
    await plugin.start();
    ({ port } = plugin.address());
    stop = async () => {
      await plugin.stop();
      await certificates.stop();
      store.close();
    };
  }, 60_000);

  afterAll(async () => {
    await stop?.();
    await rm(folder ?? "", { recursive: true, force: true });
  });

  test("answers a kube-scheduler that the command alone has configured", async () => {
    const file = join(folder, "scheduler.yaml");
    await writeFile(file, BASE_CONFIG);
    const service = `${NAMESPACE}/${SERVICE}`;
    const args = ["scheduler-config", file, "--service", service, "--kubeconfig", testbed.cluster.kubeconfig];
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [COMMAND, ...args, "--client-folder", join(folder, "client")],
      { timeout: 30_000 },
    );
    expect(stderr).toContain("run this again and restart it before 20");
    expect(stdout).not.toContain("PRIVATE KEY");
    // The address is the machine's own, and the certificate keeps the Service's name.
    const here = stdout.replace(/urlPrefix: https:\/\/[^/]+\//, `urlPrefix: https://127.0.0.1:${port}/`);
    await testbed.cluster.restartScheduler(here);
    await testbed.cluster.createPods(["near-q"], {
      labels: { app: "p", "isochrone.dev/workflow": WORKFLOW },
    });
    expect(await testbed.nodesOf(["near-q"])).toEqual(["n2"]);
  }, 60_000);

  test("answers nobody without a certificate, nor one of another authority", async () => {
    const ca = await readFile(join(folder, "client", "tls.crt"), "utf8");
    const { certFile, keyFile } = testbed.certificates.stranger;
    const strange = { cert: await readFile(certFile), key: await readFile(keyFile) };
    for (const pair of [{}, strange])
      for (const path of ["/scheduler/prioritize", "/scheduler/filter", "/api/v1/decisions"]) {
        const status = await new Promise((resolve, reject) => {
          const sent = request(
            {
              host: "127.0.0.1",
              port,
              path,
              method: path.startsWith("/s") ? "POST" : "GET",
              ca,
              ...pair,
              agent: false,
              rejectUnauthorized: false,
            },
            (response) => resolve(response.resume().statusCode),
          );
          sent.on("error", reject).end();
        });
        expect(status).toBe(401);
      }
  });

  test("may write its own Secrets and ConfigMap alone", async () => {
    const serviceAccount = { namespace: NAMESPACE, name: SERVICE };
    const kubeconfig = await testbed.cluster.kubeconfigOf({ serviceAccount });
    const around = { clock: systemClock, random: systemRandom, logger: new MemoryLogger() };
    const store = createApiServerStore({ ...around, credentials: { kubeconfig }, qps: 100, burst: 100 });
    const secret = (name: string): Promise<unknown> =>
      store.create({ ...KINDS.secret, metadata: { namespace: NAMESPACE, name }, type: "Opaque", data: {} });
    await expect(secret("isochrone-aggregator-certificates")).rejects.toMatchObject({ code: "forbidden" });
    await expect(secret("another")).rejects.toMatchObject({ code: "forbidden" });
    await expect(
      store.get({ ...KINDS.secret, namespace: NAMESPACE, name: "isochrone-probe-keys" }),
    ).rejects.toMatchObject({ code: "forbidden" });
    store.close();
  });
});
