import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTopic, grant, type AclOperation, type AclResource, type TopicOptions } from "./admin.ts";
import { makeOnce } from "../common/cache.ts";
import { makeCertificates } from "./certificates.ts";
import { makeBroker, spawnHere, type SpawnBroker } from "./broker.ts";
import { kafkaDistribution, type Distribution } from "./distribution.ts";
import { freePort } from "../common/free-port.ts";
import { javaArguments, LOG4J_PROPERTIES } from "./java.ts";
import { serverProperties, type ClusterPlan, type NodeAddress, type Properties } from "./properties.ts";
import { ReapedFolder } from "../common/reaped-folder.ts";
import { StartError, type RestartableProcess } from "../common/restartable-process.ts";
import { formatStorage, type User } from "./storage.ts";

export interface KafkaOptions {
  readonly brokers: 1 | 3;
  /** Security of the client listener. sasl_tls: SASL_SSL with SCRAM-SHA-512. @default "plaintext" */
  readonly security?: "plaintext" | "sasl_tls";
  readonly users?: readonly string[];
  /** Validity of the server certificate. @default "valid" */
  readonly certificate?: "valid" | "expired";
  /** Restricts users to permissions from `allow`. Needs sasl_tls. @default false */
  readonly authorizer?: boolean;
  readonly heapMegabytes?: number;
  readonly properties?: Properties;
  /** IP address of a broker, numbered from 1. @default "127.0.0.1" */
  readonly host?: (nodeId: number) => string;
  /** Starts a broker's process, e.g. on a node of a NamespaceLab. @default child_process.spawn */
  readonly spawn?: SpawnBroker;
}

interface KafkaAccess extends User {
  /** PEM of the CA of the brokers' certificates. */
  readonly ca: string;
}

const START_TRIES = 4;
const DEFAULT_HEAP_MEGABYTES = 256;

/** Brokers are their own controllers. Resolves when all are ready. The first call downloads 43 MB. */
export async function startKafka(options: KafkaOptions): Promise<KafkaCluster> {
  return KafkaCluster.start(await prepareKafka(), options);
}

/** Prepares shared files once: the jars, and a class data archive for brokers. */
export async function prepareKafka(): Promise<Distribution> {
  const distribution = await kafkaDistribution();
  await makeOnce(distribution.archivePath, (partial) => archiveClasses(distribution, partial));
  return distribution;
}

/** Runs a broker from start to stop to record the classes that later brokers load. */
async function archiveClasses(distribution: Distribution, path: string): Promise<void> {
  const cluster = await KafkaCluster.start(distribution, { brokers: 1, security: "sasl_tls" }, path);
  try {
    await cluster.createTopic("any");
    await cluster.stop(1);
  } finally {
    await cluster.close();
  }
}

/** A cluster in a temporary folder. Removed on close and when the creating process ends for any reason. */
export class KafkaCluster {
  readonly brokers: readonly string[];
  /** host:port of every broker's internal plaintext listener. */
  readonly internalBrokers: readonly string[];
  readonly #folder: ReapedFolder;
  readonly #brokers: readonly RestartableProcess[];
  readonly #ca: string;
  readonly #users: readonly User[];

  /** @param archiveTo see JavaProgram */
  static async start(
    distribution: Distribution,
    options: KafkaOptions,
    archiveTo?: string,
  ): Promise<KafkaCluster> {
    if (options.authorizer === true && options.security !== "sasl_tls")
      throw new Error(`authorizer needs security "sasl_tls", got "${options.security ?? "plaintext"}"`);
    for (let attempt = 1; ; attempt++) {
      const folder = new ReapedFolder("isochrone-kafka");
      try {
        const cluster = await KafkaCluster.#make(distribution, options, folder, archiveTo);
        await Promise.all(cluster.#brokers.map((broker) => broker.start()));
        return cluster;
      } catch (error) {
        await folder.remove();
        // Another process may take the free port before the broker binds it.
        if (!(error instanceof StartError && error.portTaken) || attempt === START_TRIES) throw error;
      }
    }
  }

  static async #make(
    distribution: Distribution,
    options: KafkaOptions,
    folder: ReapedFolder,
    archiveTo: string | undefined,
  ): Promise<KafkaCluster> {
    const nodes = await addresses(options);
    const secure = options.security === "sasl_tls";
    const validDays = options.certificate === "expired" ? -1 : 1;
    const hosts = [...new Set(nodes.map(({ host }) => host))];
    const certificates = secure ? await makeCertificates(folder.path, hosts, validDays) : null;
    const plan: ClusterPlan = {
      nodes,
      security: options.security ?? "plaintext",
      keystorePath: certificates?.keystorePath ?? null,
      authorizer: options.authorizer ?? false,
      properties: options.properties ?? {},
    };
    const users = secure ? (options.users ?? ["isochrone"]).map(newUser) : [];
    const folders = nodes.map(({ nodeId }) => ({ nodeId, folder: join(folder.path, String(nodeId)) }));
    for (const [i, node] of nodes.entries()) await writeNodeFolder(plan, node, folders[i]!.folder);
    await formatStorage(distribution, folders, users, folder.environment);
    const brokers = folders.map(({ nodeId, folder: brokerFolder }) =>
      makeBroker({
        nodeId,
        folder: brokerFolder,
        javaArguments: javaArguments({
          distribution,
          folder: brokerFolder,
          main: "kafka.Kafka",
          args: [join(brokerFolder, "server.properties")],
          heapMegabytes: options.heapMegabytes ?? DEFAULT_HEAP_MEGABYTES,
          archiveTo,
        }),
        environment: folder.environment,
        spawn: options.spawn ?? spawnHere,
      }),
    );
    return new KafkaCluster(folder, nodes, brokers, certificates?.ca ?? "", users);
  }

  private constructor(
    folder: ReapedFolder,
    nodes: readonly NodeAddress[],
    brokers: readonly RestartableProcess[],
    ca: string,
    users: readonly User[],
  ) {
    this.#folder = folder;
    this.#brokers = brokers;
    this.#ca = ca;
    this.#users = users;
    this.brokers = nodes.map(({ host, port }) => `${host}:${port}`);
    this.internalBrokers = nodes.map(({ host, internalPort }) => `${host}:${internalPort}`);
  }

  get folder(): string {
    return this.#folder.path;
  }

  access(username?: string): KafkaAccess {
    const user = this.#users.find((one) => username === undefined || one.username === username);
    if (user !== undefined) return { ...user, ca: this.#ca };
    const names = this.#users.map((one) => one.username).join(", ");
    throw new Error(
      `no user "${username ?? ""}" of this cluster, it has ${names || "none (security is plaintext)"}`,
    );
  }

  /** Needs a route from this process to the brokers, so not into other network namespaces. */
  createTopic(name: string, options: TopicOptions = {}): Promise<void> {
    const running = this.internalBrokers.filter((_, i) => this.#brokers[i]?.pid !== null);
    return createTopic(running, name, this.#brokers.length, options);
  }

  /** Needs the authorizer. `name` "*" matches all; the cluster's name is "kafka-cluster". */
  allow(
    username: string,
    resource: AclResource,
    name: string,
    operations: readonly AclOperation[],
  ): Promise<void> {
    return grant(this.internalBrokers, username, resource, name, operations);
  }

  /** Returns null if the broker does not run. */
  pid(nodeId: number): number | null {
    return this.#broker(nodeId).pid;
  }

  log(nodeId: number): string {
    return this.#broker(nodeId).log;
  }

  kill(nodeId: number): Promise<void> {
    return this.#broker(nodeId).kill();
  }

  /** Sends SIGTERM for an orderly stop; SIGKILL if too few other brokers run for one. */
  stop(nodeId: number): Promise<void> {
    return this.#broker(nodeId).stop();
  }

  /** Resolves when the cluster has admitted the broker, which needs a majority. */
  async restart(nodeId: number): Promise<void> {
    const broker = this.#broker(nodeId);
    await broker.stop();
    await broker.start();
  }

  pause(nodeId: number): Promise<void> {
    return this.#broker(nodeId).pause();
  }

  resume(nodeId: number): void {
    this.#broker(nodeId).resume();
  }

  /** Kills all processes and deletes all files. A second call waits for the first. */
  close(): Promise<void> {
    return this.#folder.remove();
  }

  #broker(nodeId: number): RestartableProcess {
    const broker = this.#brokers[nodeId - 1];
    if (broker !== undefined) return broker;
    throw new Error(`no broker ${nodeId}, they are numbered from 1 to ${this.#brokers.length}`);
  }
}

async function addresses({ brokers, host }: KafkaOptions): Promise<NodeAddress[]> {
  const taken = new Set<number>();
  const nodes: NodeAddress[] = [];
  for (let nodeId = 1; nodeId <= brokers; nodeId++) {
    const address = host?.(nodeId) ?? "127.0.0.1";
    nodes.push({
      nodeId,
      host: address,
      port: await freePort(address, taken),
      internalPort: await freePort(address, taken),
      controllerPort: await freePort(address, taken),
    });
  }
  return nodes;
}

async function writeNodeFolder(plan: ClusterPlan, node: NodeAddress, folder: string): Promise<void> {
  await mkdir(folder);
  await writeFile(join(folder, "server.properties"), serverProperties(plan, node, folder));
  await writeFile(join(folder, "log4j2.properties"), LOG4J_PROPERTIES);
}

function newUser(username: string): User {
  return { username, password: randomBytes(12).toString("hex") };
}
