// Starts a cluster, prints its process ids, and waits for SIGKILL. Tests what is left then.
import { startKafka } from "./index.ts";

const kafka = await startKafka({ brokers: 1, heapMegabytes: 128 });
process.stdout.write(`${JSON.stringify({ brokerPid: kafka.pid(1), folder: kafka.folder })}\n`);
setInterval(() => undefined, 1000);
