/**
 * Places that a command has no business with: where people keep keys and tokens (reading 10.4), and sockets through
 * which a program outside would act for it.
 *
 * @since 0.1.0
 */

/** Relative to the home directory. @since 0.1.0 @category constants */
export const credentialPlaces: ReadonlyArray<string> = [
  ".ssh",
  ".gnupg",
  ".aws",
  ".azure",
  ".kube",
  ".docker",
  ".oci",
  ".terraform.d",
  ".password-store",
  ".config/gcloud",
  ".config/gh",
  ".config/glab-cli",
  ".config/hub",
  ".config/op",
  ".config/doctl",
  ".config/rclone",
  ".config/containers/auth.json",
  ".config/git/credentials",
  ".local/share/keyrings",
  ".cargo/credentials",
  ".cargo/credentials.toml",
  ".git-credentials",
  ".netrc",
  ".npmrc",
  ".pypirc",
  ".pgpass",
  ".my.cnf",
  ".boto",
  ".s3cfg",
  ".vault-token",
  ".codex/auth.json",
  ".claude.json",
  ".m2/settings.xml",
  ".gradle/gradle.properties",
  ".gem/credentials",
  ".terraformrc"
]

/**
 * Sockets of daemons that run programs or change files on request: a mount namespace does not stand in the way of a
 * socket, so they are covered.
 *
 * @since 0.1.0
 * @category constants
 */
export const controlSockets: ReadonlyArray<string> = [
  "/run/user",
  "/run/dbus",
  "/run/docker.sock",
  "/run/docker",
  "/run/containerd",
  "/run/podman",
  "/run/crio",
  "/run/libvirt",
  "/run/lxd",
  "/run/incus",
  "/var/lib/lxd/unix.socket",
  "/var/lib/incus/unix.socket",
  "/var/snap/lxd/common/lxd/unix.socket",
  "/run/snapd.socket",
  "/run/systemd/private",
  "/run/systemd/io.system.ManagedOOM",
  "/run/systemd/io.systemd.Credentials",
  "/run/systemd/notify",
  "/run/udev/control",
  "/run/acpid.socket"
]
