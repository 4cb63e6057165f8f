#!/bin/sh
# Installs a release of batchctl: downloads the archive for this machine, checks its checksum and copies the
# programs. It needs curl, and tar or unzip.
#
#	install.sh [DIRECTORY [VERSION]]
#
# DIRECTORY is ~/.local/bin by default; VERSION, such as v1.2.3, is the newest release. BATCHCTL_RELEASES is the
# address of a mirror. The checksum protects from a broken download. To prove the origin of a file, use
# "gh attestation verify FILE --repo batchctl/batchctl".
set -eu

fail() {
	[ -z "${GITHUB_ACTIONS-}" ] || echo "::error title=batchctl::$1"
	echo "install batchctl: $1" >&2
	exit 1
}

directory=${1:-$HOME/.local/bin} version=${2-}
releases=${BATCHCTL_RELEASES:-https://github.com/batchctl/batchctl/releases}
command -v curl >/dev/null || fail "curl is not installed"
download() { curl --silent --fail --location --retry 3 --max-time 300 "$@"; }

if [ -z "$version" ]; then
	# The address of the newest release ends with its tag.
	version=$(download --output /dev/null --write-out '%{url_effective}' "$releases/latest") || fail "cannot find the newest release at $releases"
	version=${version##*/}
fi
case $version in
*[!0-9A-Za-z.+-]*) fail "\"$version\" is not a version such as v1.2.3" ;;
v[0-9]*.[0-9]*.[0-9]*) ;;
*) fail "\"$version\" is not a version such as v1.2.3" ;;
esac

case $(uname -s) in
Linux) system=linux ;;
Darwin) system=darwin ;;
MINGW* | MSYS* | CYGWIN*) system=windows ;;
*) fail "there is no release for $(uname -s): build it with Go, go install github.com/batchctl/batchctl/cmd/batchctl@$version" ;;
esac
case $(uname -m) in
x86_64 | amd64) processor=amd64 ;;
aarch64 | arm64) processor=arm64 ;;
*) fail "there is no release for $(uname -m): build it with Go, go install github.com/batchctl/batchctl/cmd/batchctl@$version" ;;
esac
[ "$system" = windows ] && { processor=amd64 suffix=.exe archive=.zip; } || { suffix="" archive=.tar.gz; }
name=batchctl_${version#v}_${system}_$processor$archive

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for file in checksums.txt "$name"; do
	download --output "$work/$file" "$releases/download/$version/$file" || fail "cannot download $releases/download/$version/$file"
done
want=$(awk -v name="$name" '$2 == name { print $1 }' "$work/checksums.txt")
if command -v sha256sum >/dev/null; then got=$(sha256sum "$work/$name"); else got=$(shasum -a 256 "$work/$name"); fi
got=${got%% *}
got=${got#\\} # for a name with a backslash
[ -n "$want" ] || fail "$releases/download/$version/checksums.txt does not list $name"
[ "$want" = "$got" ] || fail "the checksum of $name is $got, not $want"

mkdir "$work/files"
case $archive in
.zip) unzip -q "$work/$name" -d "$work/files" ;;
*) tar -C "$work/files" -xzf "$work/$name" ;;
esac
mkdir -p "$directory"
for program in batchctl batchctl-workloads; do
	# A program that runs cannot be written to, but its name can move to another file.
	cp "$work/files/$program$suffix" "$directory/.$program.new" && chmod 755 "$directory/.$program.new" &&
		mv -f "$directory/.$program.new" "$directory/$program$suffix" || fail "cannot write $directory/$program$suffix"
done
echo "installed batchctl $version in $directory" >&2
case ":$PATH:" in
*":$directory:"*) ;;
*) [ -n "${GITHUB_ACTIONS-}" ] || echo "$directory is not in your PATH: add it, for instance with export PATH=\"$directory:\$PATH\"" >&2 ;;
esac
