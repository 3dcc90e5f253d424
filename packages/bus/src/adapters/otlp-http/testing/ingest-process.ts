// Runs an ingest as a process whose memory a test measures. Prints its port first. Answers each input line
// with its peak memory and the published bytes.
import { createLogger, createRegistry } from "@isochrone/runtime";
import { createHttpApp, listen } from "@isochrone/runtime/http";
import { createInterface } from "node:readline";
import { otlpHttpIngest } from "../ingest.ts";

const MAX_BODY_BYTES = 4 * 1024 * 1024;

const app = await createHttpApp({
  name: "ingest",
  logger: createLogger({ service: "ingest", level: "error", destination: process.stderr }),
  registry: createRegistry(),
  bodyLimitBytes: MAX_BODY_BYTES,
  ready: () => ({ ready: true, reasons: [] }),
});
let publishedBytes = 0;
otlpHttpIngest(app, {
  maxBodyBytes: MAX_BODY_BYTES,
  maxDecompressedBytes: 4 * MAX_BODY_BYTES,
  publisher: {
    async publish(_topic, records) {
      for (const { value } of records) publishedBytes += value.length;
    },
  },
});
const { port } = await listen(app, { host: "127.0.0.1", port: 0 });
process.stdout.write(`${port}\n`);
for await (const _ of createInterface({ input: process.stdin }))
  process.stdout.write(`${process.resourceUsage().maxRSS * 1024} ${publishedBytes}\n`);
await app.close();
