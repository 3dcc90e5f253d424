import { setTimeout as sleep } from "node:timers/promises";
import {
  AclOperations,
  AclPermissionTypes,
  Admin,
  ConnectionPool,
  metadataV12,
  ResourcePatternTypes,
  ResourceTypes,
} from "@platformatic/kafka";

export interface TopicOptions {
  /** @default 1 */
  readonly partitions?: number;
  readonly configs?: Readonly<Record<string, string | number | boolean>>;
}

const KNOWN_DEADLINE_MS = 20_000;

const RESOURCES = {
  topic: ResourceTypes.TOPIC,
  group: ResourceTypes.GROUP,
  cluster: ResourceTypes.CLUSTER,
  transactional_id: ResourceTypes.TRANSACTIONAL_ID,
} as const;

const OPERATIONS = {
  all: AclOperations.ALL,
  read: AclOperations.READ,
  write: AclOperations.WRITE,
  create: AclOperations.CREATE,
  describe: AclOperations.DESCRIBE,
  describe_configs: AclOperations.DESCRIBE_CONFIGS,
  idempotent_write: AclOperations.IDEMPOTENT_WRITE,
} as const;

export type AclResource = keyof typeof RESOURCES;
export type AclOperation = keyof typeof OPERATIONS;

/** Resolves when each of these brokers knows the topic, because metadata reaches them one by one. */
export async function createTopic(
  brokers: readonly string[],
  name: string,
  replicas: number,
  { partitions = 1, configs = {} }: TopicOptions,
): Promise<void> {
  await withAdmin(brokers, async (admin) => {
    await admin.createTopics({
      topics: [name],
      partitions,
      replicas,
      configs: Object.entries(configs).map(([name, value]) => ({ name, value: String(value) })),
    });
  });
  await Promise.all(brokers.map((broker) => untilKnown(broker, name)));
}

async function untilKnown(broker: string, topic: string): Promise<void> {
  const [host = "", port = ""] = broker.split(":");
  const pool = new ConnectionPool("harness");
  try {
    const connection = await pool.get({ host, port: Number(port) });
    for (const endMs = performance.now() + KNOWN_DEADLINE_MS; performance.now() < endMs;) {
      const known = await metadataV12.api.async(connection, [topic], false, false).catch(() => null);
      if (known !== null) return;
      await sleep(20);
    }
  } finally {
    await pool.close();
  }
  throw new Error(`broker ${broker} doesn't know the topic ${topic} after ${KNOWN_DEADLINE_MS} ms`);
}

export function grant(
  brokers: readonly string[],
  username: string,
  resource: AclResource,
  name: string,
  operations: readonly AclOperation[],
): Promise<void> {
  const creations = operations.map((operation) => ({
    resourceType: RESOURCES[resource],
    resourceName: name,
    resourcePatternType: ResourcePatternTypes.LITERAL,
    principal: `User:${username}`,
    host: "*",
    operation: OPERATIONS[operation],
    permissionType: AclPermissionTypes.ALLOW,
  }));
  return withAdmin(brokers, (admin) => admin.createAcls({ creations }));
}

async function withAdmin(brokers: readonly string[], use: (admin: Admin) => Promise<void>): Promise<void> {
  const admin = new Admin({
    clientId: "harness",
    bootstrapBrokers: [...brokers],
    retries: 20,
    retryDelay: 250,
  });
  try {
    await use(admin);
  } finally {
    await admin.close();
  }
}
