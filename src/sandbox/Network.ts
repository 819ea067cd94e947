/**
 * Which names a sandboxed command may reach (reading 10.5): the pure rule, and how a command gets to the filtering proxy
 * from a network namespace without any other way out.
 *
 * @since 0.1.0
 */

import { isAddress, isPublicAddress } from "../codec/IpAddress.ts"

/** Port of the proxy inside the network namespace, where nothing else listens. @since 0.1.0 @category constants */
export const proxyPort = 3128

/**
 * Why a name and port are refused; null = allowed. A pattern is a name (`example.com`), the names below one
 * (`*.example.com`), each with ports 80 and 443, or with the one port that follows (`example.com:8443`). Case does not
 * count. An address is a name like any other: it must be listed.
 *
 * @since 0.1.0
 * @category combinators
 */
export const refusedHost = (allow: ReadonlyArray<string>, host: string, port: number): string | null => {
  const name = host.toLowerCase().replace(/\.$/u, "")
  const fits = allow.some((pattern) => {
    const [, given = "", wanted] =
      /^(.*?)(?::(\d+))?$/su.exec(pattern.trim().toLowerCase().replace(/^https?:\/\//u, "")) ?? []
    const domain = given.replace(/(?<!\*)\.$/u, "").replace(/^\[(.*)\]$/su, "$1")
    const named = domain === "*" ||
      (domain.startsWith("*.") && domain.length > 2
        ? name.endsWith(domain.slice(1)) && name !== domain.slice(2)
        : name === domain)
    return domain !== "" && named && (wanted === undefined ? port === 80 || port === 443 : port === Number(wanted))
  })
  return fits ? null : `${name}:${port} is not among the domains that the sandbox allows (sandbox.network.allow)`
}

/**
 * Why nothing is ever reached by a pattern of `sandbox.network.allow`; null = something may be.
 *
 * @since 0.1.0
 * @category combinators
 */
export const uselessPattern = (pattern: string): string | null => {
  const plain = pattern.trim().toLowerCase().replace(/^https?:\/\//u, "")
  const [, given = "", port] = /^(\[.*\]|[^:]*(?::.*:.*)?|.*?)(?::(\d+))?$/su.exec(plain) ?? []
  const host = given.replace(/^\[(.*)\]$/su, "$1").replace(/(?<!\*)\.$/u, "")
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535)) return `${port} is no port`
  if (isAddress(host)) {
    return isPublicAddress(host) ? null : "private, local and reserved addresses are not reached from the sandbox"
  }
  if (host === "localhost" || host.endsWith(".localhost")) {
    return "private, local and reserved addresses are not reached from the sandbox"
  }
  if (host === "*" || /^(?:\*\.)?[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)*$/u.test(host)) return null
  return "it is neither a name nor `*.` and a name, with or without a port"
}

/** Where programs look for a proxy. @since 0.1.0 @category constants */
export const proxyVariables: Readonly<Record<string, string>> = Object.fromEntries([
  ...["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].flatMap((name) =>
    [name, name.toLowerCase()].map((spelling) => [spelling, `http://127.0.0.1:${proxyPort}`])
  ),
  ["NO_PROXY", "localhost,127.0.0.1,::1"],
  ["no_proxy", "localhost,127.0.0.1,::1"],
  ["NODE_USE_ENV_PROXY", "1"]
])

/**
 * Runs inside the sandbox, without any right of its own: listens on the loopback device, hands every connection on to
 * the proxy's socket, and runs the command. Arguments: socket, port, command.
 */
const bridge = `const net=require("node:net"),{spawn}=require("node:child_process");
const [socket,port,program,...args]=process.argv.slice(1);
for(const s of ["SIGTERM","SIGINT","SIGHUP","SIGQUIT"])process.on(s,()=>{});
const server=net.createServer({allowHalfOpen:true},(a)=>{const b=net.connect({path:socket,allowHalfOpen:true});
a.pipe(b);b.pipe(a);a.on("error",()=>b.destroy());b.on("error",()=>a.destroy());});
server.on("error",(e)=>{process.stderr.write("hanzo-dev sandbox: no proxy: "+e.message+"\\n");process.exit(125)});
server.listen(Number(port),"127.0.0.1",()=>{const c=spawn(program,args,{stdio:"inherit"});
c.on("error",(e)=>{process.stderr.write(e.message+"\\n");process.exit(e.code==="ENOENT"?127:126)});
c.on("exit",(code,signal)=>process.exit(code===null?128+(require("node:os").constants.signals[signal]||0):code));});`

/** @since 0.1.0 @category constructors */
export const bridgedArgv = (node: string, socket: string, argv: ReadonlyArray<string>): ReadonlyArray<string> => [
  node,
  "-e",
  bridge,
  "--",
  socket,
  String(proxyPort),
  ...argv
]
