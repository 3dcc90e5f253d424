import { connect } from "node:net";
import type { Outcome } from "./trial.ts";

export async function headTrial(
  port: number,
  { path, host }: { readonly path: string; readonly host: string },
  amount: number,
): Promise<Outcome> {
  const headers = { host, connection: "close", "x-pad": "" };
  const own = path.length + Object.entries(headers).flat().join("").length;
  headers["x-pad"] = "x".repeat(amount - own);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const status = await statusLine(port, `GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
  return { isCut: !status.startsWith("HTTP/1.1 200"), named: status };
}

/** Sends bytes to a loopback server and returns the first line of the response. */
function statusLine(port: number, sent: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(sent));
    let text = "";
    socket.on("data", (data: Buffer) => (text += data.toString()));
    socket.on("error", () => undefined);
    socket.once("close", () => resolve(text.split("\r\n")[0] ?? ""));
  });
}
