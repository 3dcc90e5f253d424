import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WorkflowGraph } from "@isochrone/topology";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { toscaCommand, type ToscaOptions } from "./tosca.ts";

const MESSAGING = join(import.meta.dirname, "../../../docs/examples/messaging.yaml");

describe("isochrone tosca", () => {
  let folder: string;
  let notes: string[];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "isochrone-test-"));
    notes = [];
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  async function tosca(options: ToscaOptions = {}, file = MESSAGING): Promise<string> {
    const printed: string[] = [];
    await toscaCommand(
      file,
      options,
      (text) => printed.push(text),
      (text) => notes.push(text),
    );
    return printed.join("\n");
  }
  const failure = async (options: ToscaOptions, file = MESSAGING): Promise<string> =>
    await tosca(options, file).then(
      () => "nothing failed",
      (error: Error & { exitCode?: number }) => `${error.exitCode}: ${error.message.replaceAll(folder, "")}`,
    );
  function written(name: string, text: string): string {
    const file = join(folder, name);
    writeFileSync(file, text);
    return file;
  }

  it("prints a summary for people", async () => {
    const text = await tosca({ namespace: "shop" });
    expect(text).toMatch(/^shop\/messaging: 6 services \(api-gateway, /);
    expect(text).toMatch(/message-reader +mongodb +SynchronousRoute +25 +40/);
    expect(notes).toEqual([]);
  });

  it("prints a workflow graph as the graph API has it", async () => {
    const graph = WorkflowGraph.fromJson(JSON.parse(await tosca({ graph: true, output: "json" })));
    expect(graph.channelsFrom("api-gateway").map(({ priority }) => priority)).toEqual([100, 100, 10]);
  });

  it("prints objects that kubectl takes, as YAML documents or a List", async () => {
    const documents = parseAllDocuments(
      await tosca({ manifests: true, input: new Map([["gateway_replicas", "2"]]) }),
    );
    if (!Array.isArray(documents)) throw new Error("no documents");
    expect(documents.map((document) => (document.toJS() as { kind: string }).kind)).toHaveLength(12);
    const group = JSON.parse(
      await tosca({ appgroup: true, output: "json", algorithm: "KahnSort", name: "chat" }),
    );
    expect(group).toMatchObject({
      kind: "AppGroup",
      metadata: { name: "chat", namespace: "default" },
      spec: { numMembers: 6, topologySortingAlgorithm: "KahnSort" },
    });
    const both = JSON.parse(await tosca({ appgroup: true, manifests: true, output: "json" }));
    expect(both).toMatchObject({ kind: "List", items: { length: 13, 0: { kind: "AppGroup" } } });
  });

  it("imports what lies beside the template, and says what it left out", async () => {
    written(
      "types.yaml",
      `tosca_definitions_version: tosca_simple_yaml_1_3
imports: [ "internal:/isochrone/1.0/profile.yaml" ]
relationship_types: { Own: { derived_from: HTTPRoute } }
`,
    );
    const file = written(
      "shop.yaml",
      `tosca_definitions_version: tosca_simple_yaml_1_3
imports: [ types.yaml ]
topology_template:
  node_templates:
    a: { type: k8s:Service, requirements: [ { route: { node: b, relationship: Own } } ] }
    b: { type: k8s:Service }
    disk: { type: tosca.nodes.Storage.BlockStorage }
`,
    );
    expect(await tosca({}, file)).toMatch(/^default\/shop: 2 services \(a, b\)[^]*a +b +Own +100/);
    await tosca({ manifests: true }, file);
    expect(notes.slice(1)).toEqual([
      "note: no services by their types, left out: disk (tosca.nodes.Storage.BlockStorage)",
      "note: a has no containers: no Deployment",
      "note: b has no containers: no Deployment",
    ]);
  });

  it("takes a mapping file and folders of profiles", async () => {
    mkdirSync(join(folder, "lib/own/types"), { recursive: true });
    written(
      "lib/own/types/t.yaml",
      "tosca_definitions_version: tosca_2_0\nprofile: own.types:1.0\nnode_types: { App: { derived_from: Root } }\n",
    );
    const mapping = written(
      "map.yaml",
      'services: [ "own.types:App" ]\nchannels: { requirements: [ uses ] }\n',
    );
    const file = written(
      "app.yaml",
      `tosca_definitions_version: tosca_2_0
imports: [ { profile: "own.types:1.0", namespace: t } ]
node_types: { Mine: { derived_from: t:App, requirements: [ uses: { count_range: [ 0, 1 ] } ] } }
service_template:
  node_templates: { a: { type: Mine, requirements: [ uses: b ] }, b: { type: t:App } }
`,
    );
    expect(await tosca({ mapping, profiles: [join(folder, "lib")] }, file)).toMatch(
      /2 services \(a, b\)[^]*a +b +Route/,
    );
    expect(notes).toEqual([]);
    expect(await failure({ profiles: [join(folder, "lib")] }, file)).toContain("left out: a (Mine), b (App)");
  });

  it("needs for the graph what the graph is made of, and says all that manifests lack", async () => {
    const file = written(
      "late.yaml",
      `tosca_definitions_version: tosca_simple_yaml_1_3
imports: [ { file: "internal:/tosca/kubernetes/1.0/profile.yaml", namespace_prefix: k8s } ]
topology_template:
  inputs: { n: { type: integer } }
  node_templates:
    a:
      type: k8s:Service
      capabilities:
        deployment: { properties: { replicas: { get_input: n }, template: { containers: [ { image: { get_artifact: [ SELF, i ] } } ] } } }
`,
    );
    expect(await tosca({ graph: true }, file)).toContain("1 services (a)");
    expect(await tosca({ appgroup: true }, file)).toContain("numMembers: 1");
    const message = await failure({ manifests: true }, file);
    expect(message).toContain("inputs.n must be given, by --input n=VALUE");
    expect(message).toContain("got the function get_artifact");
  });

  it("names file, line, column, rule and value", async () => {
    const file = written(
      "wrong.yaml",
      `tosca_definitions_version: tosca_simple_yaml_1_3
imports: [ "internal:/isochrone/1.0/profile.yaml" ]
topology_template:
  node_templates:
    a:
      type: k8s:Service
      requirements:
      - route: { node: b }
`,
    );
    expect(await failure({}, file)).toBe(
      '1: /wrong.yaml:8:24: topology_template.node_templates.a.requirements.0.route.node must name a node template (a), got "b"',
    );
    expect(await failure({}, join(folder, "none.yaml"))).toBe("1: /none.yaml: the file must be there");
    expect(await failure({}, folder)).toBe("1: : the file must be readable: it is no regular file");
    expect(await failure({}, written("big.yaml", "#".repeat(3_000_000)))).toBe(
      "1: /big.yaml: the file must be at most 2 MiB, got 2.9 MiB; JSON may be larger",
    );
  });

  it("refuses options that don't go together", async () => {
    expect(await failure({ dryRun: true })).toBe("2: --dry-run and --force-conflicts go with --apply");
    expect(await failure({ graph: true, apply: true })).toBe(
      "2: --graph goes without --apply, --appgroup and --manifests",
    );
    expect(await failure({ appgroup: true, output: "table" })).toBe(
      "2: -o must be yaml or json for objects, got table",
    );
    expect(await failure({ algorithm: "Khan" })).toMatch(
      /^2: --algorithm must be one of KahnSort, .*, got "Khan"$/,
    );
    expect(await failure({ namespace: "No" })).toContain(
      'must be put into a namespace by its name, got "No"',
    );
    expect(await failure({ apply: true, kubeconfig: join(folder, "none") })).toMatch(/^1: .*none/);
  });
});
