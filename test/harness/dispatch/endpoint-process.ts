// Arguments: address, port, journal path. Journal lines: `begun ID` and `answered ID`.
import { openSync, writeSync } from "node:fs";
import { createServer } from "node:http";

const [address, port, path] = process.argv.slice(2);
const WORK_MS = 10;

const journal = openSync(path!, "a");
// Writes synchronously, because a killed process writes nothing more.
const note = (word: string, id: string): void => void writeSync(journal, `${word} ${id}\n`);

createServer((request, response) => {
  const id = String(request.headers["x-id"]);
  note("begun", id);
  request.resume().once("end", () =>
    setTimeout(() => {
      note("answered", id);
      response.setHeader("content-length", id.length);
      response.end(id);
    }, WORK_MS),
  );
}).listen({ host: address, port: Number(port) }, () => console.log("ready"));
