#!/usr/bin/env bash
# Build Citus into a folder of its own: build_citus.sh SOURCE FOLDER
#
# SOURCE is a checkout of https://github.com/citusdata/citus; 13.2 is the last for PostgreSQL 15.
# FOLDER gets a copy of Debian's PostgreSQL 15 with Citus; the installed one stays as it is.  Needs
# make, gcc, flex and Debian's postgresql-15, postgresql-server-dev-15, libkrb5-dev, liblz4-dev,
# libzstd-dev, libreadline-dev and zlib1g-dev.
#
#   git clone --depth 1 --branch v13.2.2 https://github.com/citusdata/citus SOURCE
#   benchmarks/scale/build_citus.sh SOURCE FOLDER
#   export CITUS_BIN=FOLDER/usr/lib/postgresql/15/bin
set -euo pipefail

source=$1 folder=$(mkdir -p "$2" && cd "$2" && pwd)
for each in lib share; do
    mkdir -p "$folder/usr/$each/postgresql"
    cp -rL "/usr/$each/postgresql/15" "$folder/usr/$each/postgresql/"
done
cd "$source"
# New releases of PostgreSQL 15 export this function themselves.
sed -i 's/^have_createdb_privilege(void)$/citus_have_createdb_privilege(void)/' \
    src/include/pg_version_compat.h
./configure --quiet PG_CONFIG=/usr/lib/postgresql/15/bin/pg_config --without-libcurl
make --silent -j"$(nproc)"
make --silent install DESTDIR="$folder"
chmod -R a+rX "$folder"
echo "export CITUS_BIN=$folder/usr/lib/postgresql/15/bin"
