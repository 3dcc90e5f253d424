import { describe, expect, it } from "vitest";
import { manifestsOf } from "./manifests.ts";
import { failureOf, readText, routesOf, topology } from "./testing/texts.ts";

const MICRO = 'imports: [ micro: "https://example.org/1.1/microTOSCA.yaml" ]';
const MICADO = "imports: [ https://example.org/micado_types.yaml ]";
const DOCKER = "tosca.nodes.MiCADO.Container.Application.Docker";
const ABSTRACT = "imports: [ { profile: community.tosca.abstract.application:0.1, namespace: app } ]";

describe("a published kind of template", () => {
  it.each([
    [
      "OASIS' abstract microservices",
      topology(
        "front: { type: app:MicroService, directives: [ substitute ], requirements: [ endpoint: cart ] }, cart: { type: app:MicroService }",
        ABSTRACT,
        "tosca_2_0",
      ),
      ["front", "cart"],
      ["front -> cart: InteractsWith null"],
    ],
    [
      "microTOSCA",
      topology(
        "Edge gateway: { type: micro.nodes.MessageRouter, requirements: [ interaction: shop ] }, shop: { type: micro.nodes.Service, requirements: [ interaction: { node: db, relationship: t } ] }, db: { type: micro.nodes.Datastore }, vm: { type: micro.nodes.Compute } }, relationship_templates: { t: { type: micro.relationships.InteractsWith, properties: { timeout: true } }",
        MICRO,
        "micro_tosca_yaml_1.1",
      ),
      ["edge-gateway", "shop", "db"],
      ["edge-gateway -> shop: InteractsWith null", "shop -> db: InteractsWith null"],
    ],
    [
      "MiCADO, whose pods carry containers",
      topology(
        `vm: { type: tosca.nodes.MiCADO.EC2.Compute }, app: { type: ${DOCKER}.Deployment, requirements: [ host: vm, service: pod ] }, c: { type: ${DOCKER} }, pod: { type: tosca.nodes.MiCADO.Container.Pod.Kubernetes, requirements: [ container: c ] }`,
        MICADO,
        "tosca_simple_yaml_1_0",
      ),
      ["app", "pod"],
      ["app -> pod: ConnectsTo null"],
    ],
    [
      "Turandot's Kubernetes profile",
      topology(
        "a: { type: App, requirements: [ route: b ] }, b: { type: App }",
        "imports: [ { file: profiles/kubernetes/1.0/profile.yaml, namespace_prefix: k8s }, profiles/orchestration/1.0/profile.yaml ]\nnode_types: { App: { derived_from: k8s:Service, interfaces: { normal: { type: o11n:Scriptlet } } } }",
      ),
      ["a", "b"],
      ["a -> b: Route null"],
    ],
    [
      "Puccini's newer Kubernetes profile, whose requirements name node types alone",
      topology(
        "front1: { type: Front }, front2: { type: Front }, pay: { type: Pay }",
        "imports: [ { url: ../platforms/kubernetes/microservices.yaml, namespace: ms } ]\nnode_types: { Front: { derived_from: ms:SimpleMicroService, requirements: [ pay: { relationship: ms:krm:Connects, node: Pay, capability: Service } ] }, Pay: { derived_from: ms:SimpleMicroService } }",
        "tosca_2_0",
      ),
      ["front1", "front2", "pay"],
      ["front1 -> pay: Connects null", "front2 -> pay: Connects null"],
    ],
    [
      "TOSCA's own types, whose hosts are no services",
      topology(
        "app: { type: tosca.nodes.WebApplication, requirements: [ host: web, database_endpoint: { node: db, capability: tosca.capabilities.Endpoint.Database } ] }, web: { type: WebServer, requirements: [ host: vm ] }, db: { type: tosca:Database, requirements: [ host: dbms ] }, dbms: { type: tosca.nodes.DBMS, requirements: [ host: vm ] }, vm: { type: tosca.nodes.Compute, capabilities: { host: { properties: { num_cpus: { get_input: cpus } } } } }, lb: { type: LoadBalancer, requirements: [ application: app ] }",
      ),
      ["app", "db", "lb"],
      ["app -> db: Route null", "lb -> app: RoutesTo null"],
    ],
    [
      "types that nobody mapped: what channels connect, and what is an image",
      topology(
        "a: { type: A, requirements: [ link: b, host: box ] }, b: { type: B }, box: { type: Box, artifacts: { i: { type: x.artifacts.Image, file: node } } }, solo: { type: Box, artifacts: { i: { type: x.artifacts.Image, file: redis } } }, vm: { type: Vm, requirements: [ link: a ] }",
        "node_types: { A: { derived_from: tosca.nodes.Root, requirements: [ link: { relationship: tosca.relationships.ConnectsTo, occurrences: [ 0, UNBOUNDED ] }, host: { relationship: tosca.relationships.HostedOn, occurrences: [ 0, 1 ] } ] }, B: { derived_from: A }, Box: { derived_from: tosca.nodes.Root }, Vm: { derived_from: tosca.nodes.Compute } }",
      ),
      ["a", "b", "solo"],
      ["a -> b: ConnectsTo null"],
    ],
    [
      "types that are in no file",
      topology(
        "a: { type: x:Server, requirements: [ db: { node: b, relationship: tosca.relationships.ConnectsTo } ] }, b: { type: x:Db }, c: { type: x:Disk }",
        "imports: [ { url: nowhere.yaml, namespace: x } ]",
      ),
      ["a", "b"],
      ["a -> b: ConnectsTo null"],
    ],
  ])("is read: %s", async (_, text, names, routes) => {
    const application = await readText(text, {}, { isGraphOnly: true });
    expect(application.services.map(({ name }) => name)).toEqual(names);
    expect(routesOf(application)).toEqual(routes);
  });

  it("says what it left out, and why", async () => {
    const text = topology(
      "web: { type: SoftwareComponent, requirements: [ a: { node: vm, relationship: ConnectsTo }, b: { node: tosca.nodes.DBMS, relationship: ConnectsTo, node_filter: {} } ] }, vm: { type: Compute }",
      "imports: [ nowhere.yaml ]",
    );
    const { notes, channels } = await readText(text);
    expect(channels).toEqual([]);
    expect(notes).toEqual([
      "nowhere.yaml isn't there: its types are known by their names alone",
      "web: no channel by the requirement b, its node_filter is not read: name the node template by node",
      "no services by their types, left out: vm (tosca.nodes.Compute)",
      "web -> vm: no channel, vm is no Service",
    ]);
    expect(await failureOf(topology("vm: { type: Compute }", "imports: [ nowhere.yaml ]"))).toMatch(
      /must have a node template whose type is a Service, got none \(nowhere\.yaml isn't there.*left out: vm/,
    );
  });

  it("knows types by their names alone in a template without imports", async () => {
    const body =
      "a: { type: x.Function, requirements: [ c: { node: b, relationship: l } ] }, b: { type: x.Table } }, relationship_templates: { l: { type: x.ConnectsTo }";
    const application = await readText(topology(body));
    expect(routesOf(application)).toEqual(["a -> b: ConnectsTo null"]);
    expect(application.notes[0]).toBe(
      "the template imports nothing: its types are known by their names alone",
    );
    expect((await readText(topology("a: { type: tosca.nodes.DBMS }"))).notes).toEqual([]);
  });

  it("takes no peer of the same type where TOSCA 2.0 lets a requirement be empty", async () => {
    const types =
      "capability_types: { Endpoint: {} }\nnode_types: { MicroService: { capabilities: { endpoint: { type: Endpoint } }, requirements: [ endpoint: { node: MicroService, capability: Endpoint } ] } }";
    const body = "a: { type: MicroService, requirements: [ endpoint: b ] }, b: { type: MicroService }";
    expect(routesOf(await readText(topology(body, types, "tosca_2_0")))).toEqual(["a -> b: Route null"]);
  });

  it("copies node templates, and chains of them", async () => {
    const body =
      "a: { type: SoftwareComponent, requirements: [ x: { node: d, relationship: ConnectsTo } ] }, b: { copy: a }, c: { copy: b, requirements: [] }, d: { type: DBMS }";
    expect(routesOf(await readText(topology(body)))).toEqual([
      "a -> d: ConnectsTo null",
      "b -> d: ConnectsTo null",
    ]);
  });
});

describe("manifests of published kinds", () => {
  const objectsOf = async (text: string) => manifestsOf(await readText(text)).objects;

  it("come from `spec`, as Kubernetes itself has it", async () => {
    const text = topology(
      "web: { type: App, capabilities: { deployment: { properties: { spec: { replicas: 2, template: { metadata: { labels: { x: y } }, spec: { containers: [ { name: c, image: web } ] } } } } }, http: { properties: { spec: { ports: [ { port: 80, targetPort: { port: 8080 } } ] } } }, unused: {} } }",
      "imports: [ { file: profiles/kubernetes/1.0/profile.yaml, namespace_prefix: k8s } ]\nnode_types: { App: { capabilities: { unused: k8s:NodePort, metadata: k8s:Metadata, deployment: k8s:Deployment, http: k8s:LoadBalancer } } }",
    );
    expect(await objectsOf(text)).toMatchObject([
      { kind: "Service", spec: { type: "LoadBalancer", ports: [{ port: 80, targetPort: 8080 }] } },
      {
        kind: "Deployment",
        spec: {
          replicas: 2,
          selector: { matchLabels: { service: "web" } },
          template: {
            metadata: { labels: { x: "y", service: "web" } },
            spec: { containers: [{ name: "c", image: "web" }] },
          },
        },
      },
    ]);
  });

  it("come from containers of the capability, by the types' defaults", async () => {
    const text = topology(
      "web: { type: Web }",
      "imports: [ { url: kubernetes/microservices.yaml, namespace: ms } ]\nnode_types: { Web: { derived_from: ms:SimpleMicroService, capabilities: { deployment: { properties: { containers: { default: [ { label: l, name: c, image: i, ports: [ { name: h, port: 80, target-port: 8080 } ] } ] } } }, service: { properties: { ports: { default: [ { port: 80, target-port: 8080 } ] } } } } } }",
      "tosca_2_0",
    );
    expect(await objectsOf(text)).toMatchObject([
      { kind: "Service", spec: { ports: [{ port: 80, targetPort: 8080 }] } },
      {
        kind: "Deployment",
        spec: {
          template: {
            spec: { containers: [{ name: "c", image: "i", ports: [{ name: "h", containerPort: 8080 }] }] },
          },
        },
      },
    ]);
  });

  it("come from a node template that is a container", async () => {
    const ports =
      "[ { port: 80, nodePort: 30080 }, { containerPort: 9000, protocol: udp }, { target: 81, published: 8081 } ]";
    const text = topology(
      `web: { type: ${DOCKER}, properties: { image: nginx, args: [ -q ], env: { A: 1 }, ports: ${ports} } }, db: { type: tosca.nodes.Container.Application, artifacts: { i: { type: tosca.artifacts.Deployment.Image.Container.Docker, file: "mysql:8" } } }`,
      MICADO,
    );
    expect(await objectsOf(text)).toMatchObject([
      {
        kind: "Service",
        spec: {
          type: "NodePort",
          ports: [
            { name: "port-80", port: 80, targetPort: 80, nodePort: 30080 },
            { name: "port-8081", port: 8081, targetPort: 81 },
          ],
        },
      },
      {
        kind: "Deployment",
        spec: {
          template: {
            spec: {
              containers: [
                {
                  name: "web",
                  image: "nginx",
                  args: ["-q"],
                  env: [{ name: "A", value: "1" }],
                  ports: [
                    { containerPort: 80 },
                    { containerPort: 9000, protocol: "UDP" },
                    { containerPort: 81 },
                  ],
                },
              ],
            },
          },
        },
      },
      {
        kind: "Deployment",
        spec: { template: { spec: { containers: [{ name: "db", image: "mysql:8" }] } } },
      },
    ]);
  });

  it("say what a service without containers of its own runs in", async () => {
    const text = topology(
      `web: { type: ${DOCKER}, properties: { image: x } }, pod: { type: tosca.nodes.MiCADO.Container.Pod.Kubernetes, requirements: [ container: c ] }, c: { type: ${DOCKER}, properties: { image: y } }`,
      MICADO,
    );
    const { objects, notes } = manifestsOf(await readText(text));
    expect(objects.map(({ metadata }) => metadata.name)).toEqual(["web"]);
    expect(notes).toEqual(["pod has no containers of its own, but c: no Deployment"]);
  });

  it.each([
    [
      "a property of a service",
      "web: { type: SoftwareComponent, properties: { pod: { containers: [ { image: x } ] } } }",
    ],
    [
      "what a service runs on",
      "web: { type: SoftwareComponent, requirements: [ host: box ] }, box: { type: SoftwareComponent, properties: { image: x } }",
    ],
    [
      "an image of what a service runs on",
      "web: { type: SoftwareComponent, requirements: [ host: box ] }, box: { type: SoftwareComponent, artifacts: { i: { type: x.Image, file: x } } }",
    ],
  ])("are refused rather than empty where containers are in %s", async (_, body) => {
    const application = await readText(topology(body));
    expect(() => manifestsOf(application)).toThrow(
      /must be in a capability of type Deployment for manifests: .* has containers elsewhere/,
    );
  });

  it("are all that needs values which only a deployment knows", async () => {
    const text = topology(
      "web: { type: App, capabilities: { deployment: { properties: { template: { containers: [ { image: { get_artifact: [ SELF, i ] } } ] } } }, metadata: { properties: { labels: { v: { get_input: v } } } } } }",
      "imports: [ { file: kubernetes/1.0/profile.yaml, namespace_prefix: k8s } ]\nnode_types: { App: { capabilities: { metadata: k8s:Metadata, deployment: k8s:Deployment } } }",
    ).replace("topology_template: {", "topology_template: { inputs: { v: { type: string } }, ");
    expect((await readText(text, {}, { isGraphOnly: true })).services).toHaveLength(1);
    expect((await failureOf(text)).split("\n")).toEqual([
      expect.stringContaining("inputs.v must be given, by --input v=VALUE"),
      expect.stringContaining("must be known before anything runs"),
    ]);
  });
});
