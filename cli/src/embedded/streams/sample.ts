import { join } from "node:path";
import { nodeView, type KubernetesObject } from "@isochrone/kubernetes";
import { looseFields, looseText } from "@isochrone/primitives";
import type { ShapedLink, StagedJob } from "@isochrone/lab/streams";
import { readTextFile } from "@isochrone/runtime";
import { createStreamJob, readFlowLinks, readJobDefinition, withHeaders } from "@isochrone/streams";
import { usageError } from "../../errors.ts";
import { readObjects, type DumpObject } from "../../score/read-objects.ts";
import { readStreams, type StreamObjects } from "../../streams/read-streams.ts";

const SAMPLE_STREAMS = join(import.meta.dirname, "../../../../packages/lab/manifests/sample-streams.yaml");
const MIN_NODES = 2;
const MAX_NODES = 16;
const MAX_JOBS = 16;

interface StreamSite {
  readonly name: string;
  readonly region: string;
  readonly zone: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
}

export interface StreamSample {
  readonly sites: readonly StreamSite[];
  readonly links: readonly ShapedLink[];
  readonly networks: readonly KubernetesObject[];
  readonly jobs: readonly KubernetesObject[];
  system(): StreamObjects;
}

/** Throws CommandError and DumpError. */
export function readSample(file = SAMPLE_STREAMS): StreamSample {
  const objects = readObjects(readTextFile(file), file);
  const system = (): StreamObjects => readStreams(objects, withHeaders);
  const { jobs } = system();
  const of = (kind: string): readonly DumpObject[] => objects.filter((object) => object.kind === kind);
  const bounds = (what: string, count: number, [least, most]: readonly [number, number]): void => {
    if (count < least || count > most)
      throw usageError(`${file} must have ${least} to ${most} ${what}, got ${count}`);
  };
  bounds("nodes", of("Node").length, [MIN_NODES, MAX_NODES]);
  bounds("StreamJobs", jobs.length, [1, MAX_JOBS]);
  return {
    sites: of("Node").map((node) => siteOf(objectOf(node))),
    links: of("FlowNetwork").flatMap((network) =>
      readFlowLinks(network.json.spec).map(
        ({ source, target, capacityBitsPerSecond, duplex }): ShapedLink => {
          if (duplex !== "full")
            throw usageError(`${file}: links of up --streams must be full duplex, got ${duplex ?? ""}`);
          return { a: source, b: target, bitsPerSecond: capacityBitsPerSecond };
        },
      ),
    ),
    networks: of("FlowNetwork").map(objectOf),
    jobs: of("StreamJob").map(objectOf),
    system,
  };
}

function objectOf({ json, namespace, name, kind }: DumpObject): KubernetesObject {
  const { labels } = looseFields<Record<"labels", Record<string, string>>>(json.metadata);
  return {
    apiVersion: looseText(json.apiVersion),
    kind,
    metadata: {
      name,
      ...(kind === "StreamJob" ? { namespace } : {}),
      ...(labels === undefined ? {} : { labels: { ...labels } }),
    },
    spec: { ...looseFields(json.spec) },
    status: { ...looseFields(json.status) },
  };
}

function siteOf(node: KubernetesObject): StreamSite {
  const { name, allocatableCpuMillicores, allocatableMemoryBytes } = nodeView(node);
  return {
    name,
    region: "site",
    zone: "site",
    labels: node.metadata.labels ?? {},
    cpuMillicores: allocatableCpuMillicores ?? 0,
    memoryBytes: allocatableMemoryBytes ?? 0,
  };
}

const ANY_PORT = 1;

/** A job's stages on their nodes; null while a task has none. */
export function stagesOf(
  job: KubernetesObject,
  hosts: ReadonlyMap<string, string>,
  sites: readonly StreamSite[],
): StagedJob<string> | null {
  const { namespace = "default", name } = job.metadata;
  const { spec, tasks, framesPerSecond, sourcePort } = readJobDefinition(`${namespace}/${name}`, job.spec);
  const labels = sites.map((site) => site.labels);
  const planned = createStreamJob(
    spec,
    sites.map((site) => site.name),
    (task, node) => tasks.get(task)!.secondsOn(labels[node]!),
  );
  const nodes = planned.tasks.map((task) => hosts.get(task.name));
  if (nodes.some((node) => node === undefined)) return null;
  const nodeOf = (task: number): string => (task === -1 ? spec.source : nodes[task]!);
  const portOf = (from: number, to: number): number | null =>
    from === -1 ? sourcePort : tasks.get(planned.tasks[from]!.name)!.portTo(planned.tasks[to]!.name);
  return {
    name: spec.name,
    source: spec.source,
    sourceSecondsPerFrame: framesPerSecond === null ? 0 : 1 / framesPerSecond,
    tasks: planned.tasks.map((_, task) => {
      const node = sites.findIndex((site) => site.name === nodes[task]);
      return { node: nodes[task]!, secondsPerFrame: planned.secondsPerFrame[task * sites.length + node]! };
    }),
    dependencies: planned.dependencies.map(({ source, target, bitsPerFrame }) => ({
      source,
      target,
      bytesPerFrame: bitsPerFrame / 8,
      port: nodeOf(source) === nodeOf(target) ? null : (portOf(source, target) ?? ANY_PORT),
    })),
  };
}
