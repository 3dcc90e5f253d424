// Starts a cluster, says who is part of it, and stays until it is killed: shows what is left then.
import { startKafka } from "./index.ts";

const kafka = await startKafka({ brokers: 1, heapMegabytes: 128 });
process.stdout.write(`${JSON.stringify({ brokerPid: kafka.pid(1), folder: kafka.folder })}\n`);
setInterval(() => undefined, 1000);
