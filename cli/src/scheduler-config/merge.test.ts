import { TestAuthority } from "@isochrone/runtime/testing";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { configurationText, emptyConfiguration, readConfiguration } from "./configuration-file.ts";
import { mergeExtender } from "./merge.ts";
import type { MergeRequest } from "./merge.ts";

let ca = "";
beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), "isochrone-config-"));
  ca = await (await TestAuthority.create(folder)).ca();
  await rm(folder, { recursive: true });
});

const request = (fields: Partial<MergeRequest> = {}): MergeRequest => ({
  url: "https://10.96.0.12:443/scheduler",
  serverName: "scheduler-plugin.isochrone.svc",
  ca,
  filter: false,
  managedResources: [],
  ...fields,
});

const EXISTING = `# ours since 2021
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
parallelism: 8
leaderElection: {leaderElect: true, resourceName: kube-scheduler}
profiles:
  - schedulerName: batch # at night
    plugins: {score: {disabled: [{name: ImageLocality}]}}
  - schedulerName: default-scheduler
    pluginConfig:
      - name: NodeResourcesFit
        args:
          ignoredResources: [example.com/licence] # counted elsewhere
          scoringStrategy: {type: MostAllocated}
extenders:
  # GPUs
  - urlPrefix: http://127.0.0.1:9000
    filterVerb: filter
    managedResources: [{name: example.com/gpu}]
`;

function merged(text: string | null, fields: Partial<MergeRequest> = {}) {
  const file = text === null ? emptyConfiguration() : readConfiguration(text, "config.yaml");
  const { document, notes } = mergeExtender(file, request(fields));
  return { text: configurationText(document), json: document.toJS(), notes };
}

describe("an extender in kube-scheduler's configuration", () => {
  test("is asked for priorities alone, by name, may fail, and is verified", () => {
    expect(merged(null).json).toEqual({
      apiVersion: "kubescheduler.config.k8s.io/v1",
      kind: "KubeSchedulerConfiguration",
      extenders: [
        {
          urlPrefix: "https://10.96.0.12/scheduler",
          prioritizeVerb: "prioritize",
          weight: 5,
          enableHTTPS: true,
          httpTimeout: "1000ms",
          nodeCacheCapable: true,
          ignorable: true,
          tlsConfig: {
            serverName: "scheduler-plugin.isochrone.svc",
            caData: Buffer.from(ca).toString("base64"),
          },
        },
      ],
    });
  });

  test("leaves everything else as it was, comments included", () => {
    const { text, json } = merged(EXISTING);
    const before = EXISTING.split("\n").filter((line) => line.includes("#"));
    expect(before.filter((line) => !text.includes(line.trim()))).toEqual([]);
    const { extenders, ...rest } = json;
    const { extenders: known, ...others } = readConfiguration(EXISTING, "x").json as { extenders: unknown[] };
    expect(rest).toEqual(others);
    expect(extenders[0]).toEqual(known[0]);
    expect(extenders).toHaveLength(2);
  });

  test.each([
    ["as it is", {}],
    ["with a managed resource", { managedResources: ["isochrone.dev/placement"] }],
    ["as second scheduler", { secondScheduler: "isochrone-scheduler", filter: true }],
    ["with upstream's QueueSort", { topologicalSort: ["shop"] }],
    ["with client certificate", { clientCertificate: "/tls/tls.crt", clientKey: "/tls/tls.key", weight: 9 }],
  ])("merged twice %s is the same as merged once", (_, fields) => {
    const once = merged(EXISTING, fields).text;
    expect(merged(once, fields).text).toBe(once);
  });

  test("takes the service's new address, and keeps the weight and the limit that somebody chose", () => {
    const once = merged(EXISTING, { weight: 20, timeoutMs: 300 }).text;
    const { json } = merged(once, { url: "https://10.96.7.7/scheduler" });
    expect(json.extenders).toHaveLength(2);
    expect(json.extenders[1]).toMatchObject({
      urlPrefix: "https://10.96.7.7/scheduler",
      weight: 20,
      httpTimeout: "300ms",
    });
  });

  test("stops filtering when it is merged without", () => {
    const once = merged(EXISTING, { filter: true });
    expect(once.json.extenders[1].filterVerb).toBe("filter");
    expect(merged(once.text).json.extenders[1]).not.toHaveProperty("filterVerb");
  });

  test("names files for the client certificate, never the key itself", () => {
    const { json } = merged(null, { clientCertificate: "/tls/tls.crt", clientKey: "/tls/tls.key" });
    expect(json.extenders[0].tlsConfig).toMatchObject({ certFile: "/tls/tls.crt", keyFile: "/tls/tls.key" });
  });
});

describe("a managed resource", () => {
  const managedResources = ["isochrone.dev/placement"];

  test("is ignored by the scheduler itself where no profile has a list of its own", () => {
    const { json } = merged(null, { managedResources });
    expect(json.extenders[0].managedResources).toEqual([
      { name: "isochrone.dev/placement", ignoredByScheduler: true },
    ]);
  });

  test("joins ignoredResources that are there, in every profile: ignoredByScheduler would replace them", () => {
    const { json } = merged(EXISTING, { managedResources });
    expect(json.extenders[1].managedResources).toEqual([
      { name: "isochrone.dev/placement", ignoredByScheduler: false },
    ]);
    expect(json.profiles.map((profile: { pluginConfig: object[] }) => profile.pluginConfig)).toEqual([
      [{ name: "NodeResourcesFit", args: { ignoredResources: ["isochrone.dev/placement"] } }],
      [
        {
          name: "NodeResourcesFit",
          args: {
            ignoredResources: ["example.com/licence", "isochrone.dev/placement"],
            scoringStrategy: { type: "MostAllocated" },
          },
        },
      ],
    ]);
  });

  test("is declared like another extender's, whose declaration replaces the lists in any case", () => {
    const other = EXISTING.replace(
      "{name: example.com/gpu}",
      "{name: example.com/gpu, ignoredByScheduler: true}",
    );
    const { json, notes } = merged(other, { managedResources });
    expect(json.extenders[1].managedResources[0].ignoredByScheduler).toBe(true);
    expect(notes.join(" ")).toContain("ignoredResources of the profiles have no effect");
  });
});

describe("a second scheduler", () => {
  test("has one profile of its name, which works as the default one does, and a Lease of its own", () => {
    const { json, notes } = merged(EXISTING, { secondScheduler: "isochrone-scheduler" });
    expect(json.profiles).toHaveLength(1);
    expect(json.profiles[0]).toMatchObject({
      schedulerName: "isochrone-scheduler",
      pluginConfig: [{ args: { scoringStrategy: { type: "MostAllocated" } } }],
    });
    expect(json.leaderElection).toEqual({
      leaderElect: true,
      resourceName: "isochrone-scheduler",
      resourceNamespace: "kube-system",
    });
    expect(notes.join(" ")).toContain("batch");
  });

  test("keeps the profile of its name if the file has one", () => {
    const { json } = merged(EXISTING, { secondScheduler: "batch" });
    expect(json.profiles).toEqual([
      { schedulerName: "batch", plugins: { score: { disabled: [{ name: "ImageLocality" }] } } },
    ]);
  });
});

describe("upstream's QueueSort", () => {
  const topologicalSort = ["shop", "bank"];
  const queueSort = { enabled: [{ name: "TopologicalSort" }], disabled: [{ name: "*" }] };
  const config = { name: "TopologicalSort", args: { namespaces: ["shop", "bank"] } };

  test("is written into every profile alike: they share one queue", () => {
    const { json, text, notes } = merged(EXISTING, { topologicalSort });
    expect(json.profiles).toEqual([
      {
        schedulerName: "batch",
        plugins: { score: { disabled: [{ name: "ImageLocality" }] }, queueSort },
        pluginConfig: [config],
      },
      {
        schedulerName: "default-scheduler",
        plugins: { queueSort },
        pluginConfig: [
          {
            name: "NodeResourcesFit",
            args: {
              ignoredResources: ["example.com/licence"],
              scoringStrategy: { type: "MostAllocated" },
            },
          },
          config,
        ],
      },
    ]);
    expect(text).toContain("# at night");
    expect(notes.join("\n")).toMatch(/scheduler-plugins alone[^]*get on appgroups[^]*release=ordered/);
  });

  test("is written into a default profile where there is none, and into that of a second scheduler", () => {
    const plugins = { plugins: { queueSort }, pluginConfig: [config] };
    expect(merged(null, { topologicalSort }).json.profiles).toEqual([
      { schedulerName: "default-scheduler", ...plugins },
    ]);
    expect(merged(null, { topologicalSort, secondScheduler: "isochrone-scheduler" }).json.profiles).toEqual([
      { schedulerName: "isochrone-scheduler", ...plugins },
    ]);
  });

  test("takes other namespaces, and stays when it isn't asked for again", () => {
    const once = merged(EXISTING, { topologicalSort }).text;
    const { json } = merged(once, { topologicalSort: ["market"] });
    const [batch] = json.profiles as [{ pluginConfig: object[] }];
    expect(batch.pluginConfig).toEqual([{ name: "TopologicalSort", args: { namespaces: ["market"] } }]);
    expect(merged(once).text).toBe(once);
  });

  test("replaces the in-tree one, and no other", () => {
    const withSort = (name: string): string =>
      EXISTING.replace("plugins: {", `plugins: {queueSort: {enabled: [{name: ${name}}]}, `);
    expect(merged(withSort("PrioritySort"), { topologicalSort }).json.profiles[0].plugins.queueSort).toEqual(
      queueSort,
    );
    expect(() => merged(withSort("Coscheduling"), { topologicalSort })).toThrow(
      /config\.yaml, line 8: profiles\.0\.plugins\.queueSort\.enabled\.0\.name must be PrioritySort or TopologicalSort .*got "Coscheduling"/,
    );
  });
});

describe("what is refused names field, rule and value", () => {
  test.each<[string, Partial<MergeRequest>, RegExp]>([
    ["no address", { url: "scheduler" }, /--url must be an address, got "scheduler"/],
    ["another scheme", { url: "ftp://10.0.0.1/x" }, /--url must begin with https:\/\/.*got "ftp:/],
    ["a query", { url: "https://10.0.0.1/x?y=1" }, /no user, query or fragment.*y=1/],
    [
      "a service's name",
      { url: "https://a.b.svc/scheduler" },
      /must not name a service.*--server-name a\.b\.svc/,
    ],
    [
      "plain http over the network",
      { url: "http://10.0.0.1/x", ca: undefined, serverName: undefined },
      /must be https unless/,
    ],
    ["certificates for plain http", { url: "http://127.0.0.1:1/x" }, /--ca needs an https address/],
    ["no authority", { ca: undefined }, /--ca must name the authority.*verifies no certificate/],
    ["no certificate", { ca: "hello" }, /--ca must hold PEM certificates, got "hello"/],
    [
      "a broken certificate",
      { ca: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----" },
      /--ca: certificate 1 must be readable/,
    ],
    [
      "half a client certificate",
      { clientKey: "/k" },
      /--client-certificate must be said together with --client-key, got nothing/,
    ],
    [
      "a resource without a domain",
      { managedResources: ["gpu"] },
      /--managed-resource must be an extended resource.*got "gpu"/,
    ],
    [
      "a native resource",
      { managedResources: ["kubernetes.io/x"] },
      /isn't kubernetes\.io.*got "kubernetes\.io\/x"/,
    ],
    [
      "no namespace",
      { topologicalSort: ["My Shop"] },
      /--topological-sort must be a namespace, got "My Shop"/,
    ],
    ["a resource twice", { managedResources: ["a.b/c", "a.b/c"] }, /each resource once, got "a\.b\/c" twice/],
    [
      "another extender's resource",
      { managedResources: ["example.com/gpu"] },
      /config\.yaml, line 19: extenders\.0\.managedResources\.0\.name must not be .*got "example\.com\/gpu"/,
    ],
    [
      "the default scheduler as second",
      { secondScheduler: "default-scheduler" },
      /must not be default-scheduler/,
    ],
    [
      "a name that no Lease can have",
      { secondScheduler: "My Scheduler" },
      /--second-scheduler must be a name.*got "My Scheduler"/,
    ],
  ])("%s", (_, fields, message) => {
    expect(() => merged(EXISTING, fields)).toThrow(message);
  });

  test.each([
    ["kind: Pod\n", /line 1: kind must be KubeSchedulerConfiguration, got "Pod"/],
    [
      EXISTING.replace("/v1\n", "/v1beta3\n"),
      /line 2: apiVersion must be kubescheduler\.config\.k8s\.io\/v1.*got "kubescheduler\.config\.k8s\.io\/v1beta3"/,
    ],
    [EXISTING.replace(/extenders:[\s\S]*/, "extenders: {}\n"), /line 15: extenders must be a list, got \{\}/],
    [EXISTING.replace(/profiles:[\s\S]*/, "profiles: [5]\n"), /profiles\.0 must be an object, got 5/],
    [EXISTING.replace("[example.com/licence]", "all"), /ignoredResources must be a list, got "all"/],
    ["a: [", /line 1: must be YAML or JSON/],
    ["5\n", /the document must be a KubeSchedulerConfiguration, got 5/],
    ["", /the document must be a KubeSchedulerConfiguration, got null/],
    [`${EXISTING}---\n${EXISTING}`, /must hold one document, got 2/],
  ])("a file such as %j", (text, message) => {
    expect(() => readConfiguration(text, "config.yaml")).toThrow(message);
  });
});
