import type { KubernetesObject } from "@isochrone/kubernetes";
import { loadSettings, yamlValue } from "@isochrone/runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { grantsOf, RULE_FILES, textOf } from "../harness/components/index.ts";
import {
  CHART,
  chartFilesIn,
  Helm,
  helmSupport,
  MATRIX,
  only,
  podSpecOf,
  SECTIONS,
  type ChartValues,
} from "../harness/helm/index.ts";
import { environmentOf, mountedBy, settingsIn, workloadOf } from "../harness/helm/workloads.ts";

const support = helmSupport();
if (!support.supported) console.warn(`the chart is not rendered: ${support.reason}`);

describe.runIf(support.supported)("the chart's values", { timeout: 60_000 }, () => {
  let helm: Helm;
  const rendered = new Map<string, KubernetesObject[]>();

  beforeAll(async () => {
    helm = await Helm.open();
    for (const [name, values] of Object.entries(MATRIX)) rendered.set(name, await helm.template(values));
  }, 900_000);
  afterAll(() => helm?.close());

  test("pass Helm's own judgement", async () => {
    const { code, stdout, stderr } = await helm.run(["lint", "--strict", CHART]);
    expect({ code, said: stdout + stderr }).toMatchObject({
      code: 0,
      said: expect.not.stringContaining("[ERROR]"),
    });
  });

  test.each(Object.keys(MATRIX))("give settings that every service starts with: %s", (name) => {
    const objects = rendered.get(name)!;
    for (const [component, sections] of Object.entries(SECTIONS)) {
      const workload = workloadOf(objects, component);
      if (workload === null) continue;
      const file = settingsIn(objects, component);
      expect(() => loadSettings(sections, { env: environmentOf(workload), file })).not.toThrow();
    }
  });

  test.each(Object.keys(MATRIX))("mount every file that settings name: %s", (name) => {
    const objects = rendered.get(name)!;
    for (const component of Object.keys(SECTIONS)) {
      const workload = workloadOf(objects, component);
      if (workload === null) continue;
      const missing = chartFilesIn(settingsIn(objects, component)).filter(
        (path) => !mountedBy(workload).includes(path),
      );
      expect({ component, missing }).toEqual({ component, missing: [] });
    }
  });

  test("keep pods of every kind within restricted Pod Security, without a limit of CPU", () => {
    for (const [name, objects] of rendered)
      for (const object of objects) {
        const spec = podSpecOf(object);
        if (spec === null) continue;
        // With service links the Service would set ISOCHRONE_AGGREGATOR_PORT, an invalid setting.
        expect({ name, object: object.metadata.name, links: spec.enableServiceLinks }).toMatchObject({
          links: false,
        });
        expect({ name, object: object.metadata.name, security: spec.securityContext }).toMatchObject({
          security: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
        });
        for (const { securityContext, resources, name: container } of spec.containers) {
          expect(securityContext).toMatchObject({
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ["ALL"] },
          });
          expect({ container, cpu: resources?.limits?.["cpu"] }).toEqual({ container });
        }
      }
  });

  test("make one exception, when asked: root with NET_RAW for probes in the nodes' network", async () => {
    const objects = await helm.template({ probe: { hostNetwork: true } });
    const spec = podSpecOf(only(objects, "DaemonSet", "isochrone-probe"))!;
    expect(spec).toMatchObject({ hostNetwork: true, securityContext: { runAsUser: 0 } });
    // Host-network pods may not set sysctls: the API server rejects them.
    expect(spec.securityContext).not.toHaveProperty("sysctls");
    expect(spec.containers[0]!.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"], add: ["NET_RAW"] },
    });
    const others = objects
      .map(podSpecOf)
      .filter((other) => other !== null && other.containers[0]!.name !== "probe");
    expect(
      others.filter(
        (other) => other!.hostNetwork === true || other!.securityContext?.["runAsUser"] !== 65_532,
      ),
    ).toEqual([]);
    expect(settingsIn(objects, "probe")["probe"]).toMatchObject({ hostNetwork: true });
  });

  test("give Node three quarters of the memory, of the aggregator's nine sixteenths", async () => {
    const heaps = async (memory: string | number): Promise<(string | undefined)[]> => {
      const resources = { limits: { memory } };
      const objects = await helm.template({ aggregator: { resources }, schedulerPlugin: { resources } });
      return [
        only(objects, "Deployment", "isochrone-scheduler-plugin"),
        only(objects, "StatefulSet", "isochrone-aggregator"),
      ].map(
        (object) => podSpecOf(object)!.containers[0]!.env!.find(({ name }) => name === "NODE_OPTIONS")?.value,
      );
    };
    const flag = (mebibytes: number): string => `--max-old-space-size=${mebibytes}`;
    expect(await heaps("2Gi")).toEqual([flag(1536), flag(1152)]);
    expect(await heaps("1.5Gi")).toEqual([flag(1152), flag(864)]);
    expect(await heaps("1G")).toEqual([flag(715), flag(536)]);
    expect(await heaps(1_073_741_824)).toEqual([flag(768), flag(576)]);
  });

  test("keep meshes out of what measures, and name probes as aggregators look for them", () => {
    const objects = rendered.get("as it is")!;
    for (const kind of ["probe", "collector"]) {
      const template = only(objects, "DaemonSet", `isochrone-${kind}`).spec!["template"] as KubernetesObject;
      expect(template.metadata).toMatchObject({
        annotations: { "sidecar.istio.io/inject": "false" },
        labels: { "istio.io/dataplane-mode": "none", "app.kubernetes.io/name": `isochrone-${kind}` },
      });
    }
  });

  test("bind the rights of what is on, and of nothing else", () => {
    const bound = (name: string): string[] => {
      const text = rendered.get(name)!.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
      return RULE_FILES.filter((file) =>
        text.some((line) => line === `ClusterRole isochrone-${file}` || line === `Role isochrone-${file}`),
      );
    };
    // collector-node's role has the component's name.
    expect(bound("everything off")).toEqual(["aggregator", "collector"]);
    // Its certificates come from elsewhere.
    const own = ["aggregator-certificates", "scheduler-plugin-certificates"];
    const others = ["graph-roles", "probe", "collector-node", ...own];
    expect(bound("everything on")).toEqual(RULE_FILES.filter((file) => !others.includes(file)));
    expect(bound("as it is")).toEqual(expect.arrayContaining(own));
  });

  test("let a dry run of the descheduler read, and evict or change nothing", async () => {
    const grants = async (mode: string, enabled: boolean): Promise<string[]> => {
      const settings = { descheduler: { mode }, planner: { enabled } };
      return grantsOf(await helm.template({ settings })).map(textOf);
    };
    const added = async (mode: string, enabled: boolean): Promise<string[]> => {
      const off = await grants("off", enabled);
      return (await grants(mode, enabled)).filter((grant) => !off.includes(grant));
    };
    // With the planner on, proposals already have all of these read permissions.
    const dry = await added("dry-run", false);
    expect(dry).toContain("isochrone-scheduler-plugin list poddisruptionbudgets.policy");
    expect(dry.filter((grant) => !/ (?:get|list|watch) /.test(grant))).toEqual([]);
    expect(await added("dry-run", true)).toEqual([]);
    // The planner may evict pods that fit on none of their planned nodes, independently of the descheduler.
    const evicts = "isochrone-scheduler-plugin create pods/eviction";
    const records = "isochrone-scheduler-plugin patch replicasets.apps";
    for (const mode of ["evict", "paper"]) {
      expect(await grants(mode, true)).toContain(evicts);
      expect(await added(mode, true)).toContain(records);
    }
  });

  // helm-install.test.ts validates their fields against the operators' definitions.
  test("put prices beside the aggregator's settings, and refuse what is none", async () => {
    const row = { provider: "own", scope: "same-zone", from: "*", out: 0, in: 0, per: "GB" };
    const prices = { replace: true, prices: [{ ...row, currency: "EUR", source: "ours", date: "2026-10" }] };
    const dataOf = (objects: readonly KubernetesObject[]): Record<string, string> =>
      objects.find(({ kind, metadata }) => kind === "ConfigMap" && metadata.name === "isochrone-aggregator")![
        "data"
      ] as Record<string, string>;
    const checksumOf = (objects: readonly KubernetesObject[]): string =>
      /checksum\/config":"(\w+)"/.exec(
        JSON.stringify(
          objects.find(
            ({ kind, metadata }) => kind === "StatefulSet" && metadata.name.endsWith("-aggregator"),
          ),
        ),
      )![1]!;
    const [plain, priced] = [await helm.template({}), await helm.template({ prices })];
    expect(Object.keys(dataOf(plain))).toEqual(["isochrone.yaml"]);
    expect(yamlValue(dataOf(priced)["prices.yaml"]!)).toEqual(prices);
    expect(checksumOf(priced)).not.toBe(checksumOf(plain));
    await expect(helm.template({ prices: { mode: "replace" } })).rejects.toThrow(/mode/);
    const openCost = { zoneNetworkEgress: "0.01", internetNetworkEgress: 0.12, CPU: "0.03" };
    const rendered = await helm.template({ prices: openCost });
    expect(yamlValue(dataOf(rendered)["prices.yaml"]!)).toEqual(openCost);
    const outside = { cluster: ["10.0.0.0/8"], names: [{ name: "s3", cidrs: ["52.218.0.0/17"] }] };
    const named = await helm.template({ outside, connections: { enabled: true } });
    const told = named.flatMap(({ metadata, data }) => {
      const file = Object.entries(data ?? {}).find(([name]) => name === "outside.yaml");
      return file === undefined ? [] : [[metadata.name, yamlValue(String(file[1]))]];
    });
    expect(Object.fromEntries(told)).toEqual({
      "isochrone-aggregator": outside,
      "isochrone-connections": outside,
    });
    expect(checksumOf(named)).not.toBe(checksumOf(plain));
  });

  test("seal records on Kafka, by keys that nobody mounts; not where no token is asked for", async () => {
    const kafka = { enabled: true, brokers: ["kafka:9093"] };
    const objects = await helm.template({ kafka });
    expect(settingsIn(objects, "aggregator")).toMatchObject({
      aggregator: { recordKeysSecret: "isochrone/isochrone-record-keys" },
      bus: { sealRecords: true },
    });
    for (const component of ["probe", "collector"])
      expect(settingsIn(objects, component)).toMatchObject({ bus: { sealRecords: true } });
    const mounts = objects.map(podSpecOf).filter((spec) => spec !== null);
    expect(mounts.length).toBeGreaterThan(2);
    expect(JSON.stringify(mounts.map((spec) => spec.volumes))).not.toContain("record-keys");
    for (const values of [
      { kafka, tls: { source: "none" } },
      { kafka: { ...kafka, sealRecords: false } },
      {},
    ])
      expect(JSON.stringify(await helm.template(values))).not.toMatch(
        /record-sealer|sealRecords|recordKeysSecret/,
      );
  });

  test("tell operators of ports, Secrets and rules that are there", () => {
    const objects = rendered.get("what operators know")!;
    const of = (kind: string): KubernetesObject[] => objects.filter((object) => object.kind === kind);
    const ports = objects
      .flatMap((object) => podSpecOf(object)?.containers ?? [])
      .flatMap(({ ports = [] }) => ports);
    const endpoints = of("PodMonitor").flatMap(
      ({ spec }) => spec!["podMetricsEndpoints"] as { port: string }[],
    );
    expect(endpoints).toHaveLength(5);
    expect(endpoints.filter(({ port }) => !ports.some(({ name }) => name === port))).toEqual([]);
    const groups = of("PrometheusRule").flatMap(
      ({ spec }) => spec!["groups"] as { name: string; rules: object[] }[],
    );
    expect(groups.length).toBeGreaterThan(0);
    expect(groups.filter(({ name, rules }) => name === "" || rules.length === 0)).toEqual([]);
    const made = of("Certificate").map(({ spec }) => spec!["secretName"] as string);
    const wanted = [
      ...JSON.stringify(objects).matchAll(/"secret(?:Name)?":(?:\{"name":)?"(isochrone-[a-z-]+)"/g),
    ].map(([, name]) => name!);
    const byServices = ["isochrone-probe-keys"];
    expect(wanted.filter((name) => !made.includes(name) && !byServices.includes(name))).toEqual([]);
  });

  test("send whoever is alerted to the runbooks, wherever these are", async () => {
    const urlsOf = async (monitoring: object): Promise<string[]> => {
      const objects = await helm.template({ monitoring: { rules: true, ...monitoring } });
      const rules = objects.filter(({ kind }) => kind === "PrometheusRule");
      return [...JSON.stringify(rules).matchAll(/"runbook_url":"([^"]*)"/g)].map(([, url]) => url!);
    };
    const urls = await urlsOf({ runbookBaseUrl: "https://wiki.example.com/runbooks/" });
    expect(urls.length).toBeGreaterThan(20);
    expect(urls).toContain("https://wiki.example.com/runbooks/IsochroneGraphStale.md");
    expect(await urlsOf({})).toContain("docs/runbooks/IsochroneGraphStale.md");
    expect(await urlsOf({ runbookBaseUrl: "" })).toEqual([]);
  });

  const refused: readonly (readonly [string, ChartValues, string | RegExp])[] = [
    ["an unknown key", { probes: {} }, /additional properties 'probes' not allowed/],
    [
      "an unknown setting",
      { settings: { probe: { intervallMs: 5 } } },
      /additional properties 'intervallMs' not allowed/,
    ],
    [
      "a setting that the chart sets",
      { settings: { probe: { aggregatorUrl: "http://x" } } },
      /'aggregatorUrl' not allowed/,
    ],
    ["a wrong type", { aggregator: { replicas: "three" } }, /aggregator\/replicas.*got string, want integer/],
    ["a flag in words", { settings: { gates: { enabled: "yes" } } }, /gates\/enabled/],
    ["a negative duration", { settings: { probe: { intervalMs: -5 } } }, /probe\/intervalMs.*minimum/],
    ["a duration in words", { settings: { probe: { intervalMs: "abc" } } }, /probe\/intervalMs.*pattern/],
    ["a window of nothing", { settings: { aggregator: { windowMs: 0 } } }, /aggregator\/windowMs.*minimum/],
    [
      "a window of nothing, with a unit",
      { settings: { aggregator: { windowMs: "0s" } } },
      "settings.aggregator.windowMs must be at least 1000, got 0s",
    ],
    ["a bad name", { tls: { aggregatorSecret: "Not A Name" } }, /aggregatorSecret/],
    ["a broker without a port", { kafka: { enabled: true, brokers: ["kafka"] } }, /brokers/],
    [
      "several aggregators without Kafka",
      { aggregator: { replicas: 2 } },
      "aggregator.replicas must be 1 without Kafka, got 2",
    ],
    ["Kafka without brokers", { kafka: { enabled: true } }, "kafka.brokers must name a broker"],
    [
      "tokens without TLS",
      { access: { mode: "kubernetes" }, tls: { source: "none" } },
      "access.mode must not be kubernetes while tls.source is none",
    ],
    [
      "a webhook without an opener",
      { settings: { gates: { enabled: false }, webhook: { enabled: true } } },
      "settings.gates.enabled must be true when settings.webhook.enabled is",
    ],
    [
      "evictions without a planner",
      { settings: { descheduler: { mode: "evict" } } },
      "settings.planner.enabled must be true",
    ],
    [
      "a throttled probe",
      { probe: { resources: { limits: { cpu: "1" } } } },
      "probe.resources.limits.cpu must not be set",
    ],
    [
      "a login without a password",
      { kafka: { enabled: true, brokers: ["k:9"], sasl: { mechanism: "plain" } } },
      /3 mistake|kafka.sasl.passwordSecret must name a Secret/,
    ],
    [
      "too little memory",
      { probe: { resources: { limits: { memory: "64Mi" } } } },
      "resources.limits.memory must be at least 96Mi, got 64Mi",
    ],
  ];
  test.each(refused)("are refused with a clear word: %s", async (_, values, words) => {
    const { code, stderr } = await helm.tryTemplate(values);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(words);
  });

  test("of words that YAML, shells and templates know are taken as they are", async () => {
    const hostile = `a"b'c: {{ .Values }} <script> \u202Eabc #`;
    const objects = await helm.template({
      commonLabels: {},
      settings: { collector: { prometheusTenant: hostile } },
      aggregator: { podAnnotations: { "example.com/note": hostile } },
    });
    expect(settingsIn(objects, "collector")["collector"]).toMatchObject({ prometheusTenant: hostile });
    const { template } = only(objects, "StatefulSet", "isochrone-aggregator").spec as {
      template: KubernetesObject;
    };
    expect(template.metadata.annotations).toMatchObject({ "example.com/note": hostile });
  });
});
