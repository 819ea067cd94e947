/** No test reaches past this machine: a connection to any other address is refused before it is tried. */
import * as net from "node:net"

const local = (host: string | undefined): boolean =>
  host === undefined || host === "" || host === "localhost" || host === "::1" || host === "0.0.0.0" ||
  host.startsWith("127.")

const connect = net.Socket.prototype.connect
net.Socket.prototype.connect = function(this: net.Socket, ...args: ReadonlyArray<unknown>) {
  const first = Array.isArray(args[0]) ? (args[0] as ReadonlyArray<unknown>)[0] : args[0]
  if (typeof first === "object" && first !== null) {
    const { host, path } = first as { readonly host?: string; readonly path?: string }
    if (path === undefined && !local(host)) throw new Error(`no network in tests: refused to connect to ${host}`)
  }
  return Reflect.apply(connect, this, args) as net.Socket
} as typeof connect
