// Starts etcd and an API server, prints their process ids, and waits for SIGKILL. Tests what is left then.
import { startControlPlane } from "./index.ts";

const cluster = await startControlPlane();
const pids = [cluster.pid("etcd"), cluster.pid("api-server")];
process.stdout.write(`${JSON.stringify({ pids, folder: cluster.folder })}\n`);
setInterval(() => undefined, 1000);
